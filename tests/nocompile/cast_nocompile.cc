// What cannot be done with Broadcast and Watch, and what the compiler says about it.

#include <memory>
#include <optional>

#include "csp/chan/broadcast.h"
#include "csp/chan/watch.h"
#include "csp/select/select.h"

struct ThrowingMove {
  ThrowingMove() = default;
  ThrowingMove(const ThrowingMove&) = default;
  ThrowingMove(ThrowingMove&&) noexcept(false) {}
};

class Unknown;
struct Holder {
  csp::Broadcast<Unknown> all;
  csp::BroadcastReader<Unknown> each;
  csp::Watch<Unknown> latest;
  csp::WatchReader<Unknown> changes;
};

void Valid(csp::Broadcast<int> all, csp::Watch<int> latest) {
  csp::BroadcastReader<int> each = all.Subscribe();
  csp::WatchReader<int> changes = latest.Subscribe();
  csp::Select(
      each.OnRecv() >> [](std::optional<csp::Delivery<int>>) {},
      changes.OnChange() >> [](std::optional<int>) {});
  (void)all.Subscribe().Recv();
  (void)csp::MakeWatch<std::shared_ptr<const std::unique_ptr<int>>>(nullptr);
}

#ifdef TEMPORARY_READER_IN_A_SELECT  // expect: misses what is sent between two
void Case(csp::Broadcast<int> all) {
  csp::Select(all.Subscribe().OnRecv() >> [](std::optional<csp::Delivery<int>>) {});
}
#endif

#ifdef TEMPORARY_WATCH_READER_IN_A_SELECT  // expect: has seen nothing, and is always ready
void Case(csp::Watch<int> latest) {
  csp::Select(latest.Subscribe().OnChange() >> [](std::optional<int>) {});
}
#endif

#ifdef HANDLER_THAT_HEARS_NOTHING_OF_LAG  // expect: says how many values were missed
void Case(csp::BroadcastReader<int> each) {
  csp::Select(each.OnRecv() >> [](std::optional<int>) {});
}
#endif

#ifdef HANDLER_WITHOUT_CLOSE  // expect: which is empty when the channel is closed
void Case(csp::WatchReader<int> changes) {
  csp::Select(changes.OnChange() >> [](int) {});
}
#endif

#ifdef BROADCAST_OF_WHAT_CANNOT_BE_COPIED  // expect: each reader gets a copy, so T must be copyable
void Case() { (void)csp::MakeBroadcast<std::unique_ptr<int>>(1); }
#endif

#ifdef WATCH_OF_WHAT_CANNOT_BE_COPIED  // expect: each reader gets a copy, so T must be copyable
void Case() { (void)csp::MakeWatch(std::make_unique<int>(1)); }
#endif

#ifdef THROWING_MOVE  // expect: moving and destroying T must not throw
void Case() { (void)csp::MakeBroadcast<ThrowingMove>(1); }
#endif

#ifdef REFERENCE_ELEMENT  // expect: T must be a plain object type
void Case() { csp::Broadcast<int&> nil; }
#endif

#ifdef CONST_ELEMENT  // expect: T must be a plain object type
void Case() { csp::Watch<const int> nil; }
#endif

#ifdef SEND_ON_A_READER  // expect: no member named 'Send'
void Case(csp::BroadcastReader<int> each) { each.Send(1); }
#endif

#ifdef SET_ON_A_READER  // expect: no member named 'Set'
void Case(csp::WatchReader<int> changes) { changes.Set(1); }
#endif

#ifdef RECV_WITHOUT_A_READER  // expect: no member named 'Recv'
void Case(csp::Broadcast<int> all) { (void)all.Recv(); }
#endif

#ifdef NO_CAPACITY  // expect: MakeBroadcast
auto Case() { return csp::MakeBroadcast<int>(); }
#endif

#ifdef IGNORED_TRY  // expect: nodiscard | unused | ignoring return value
#pragma GCC diagnostic error "-Wunused-result"
void Case(csp::WatchReader<int> changes, std::optional<int> out) { changes.TryNext(out); }
#endif
