// What cannot be done with channels, and what the compiler says about it.

#include <memory>
#include <optional>

#include "csp/chan/chan.h"

struct ThrowingMove {
  ThrowingMove() = default;
  ThrowingMove(ThrowingMove&&) noexcept(false) {}
};
struct ThrowingEnd {
  ~ThrowingEnd() noexcept(false) {}
};

struct Recursive {
  csp::SendChan<Recursive> answer;
  csp::Chan<Recursive> both;
};
class Unknown;
struct Holder {
  csp::Chan<Unknown> both;
  csp::RecvChan<Unknown> in;
  csp::SendChan<Unknown> out;
};
csp::Chan<Unknown> Elsewhere(csp::RecvChan<Unknown> in);

void Valid(csp::Chan<Recursive> recursive) {
  recursive.Send({recursive, recursive});
  recursive = recursive.Recv()->both;
}

void Valid(csp::Chan<std::unique_ptr<int>> both, csp::RecvChan<int> in, csp::SendChan<int> out) {
  both.Send(std::make_unique<int>(1));
  (void)in.Recv();
  out.Send(1);
  out.Close();
  const csp::RecvChan<std::unique_ptr<int>> narrowed = both;
  (void)narrowed;
}

#ifdef RECV_ON_A_SEND_CHAN  // expect: no member named 'Recv'
void Case(csp::SendChan<int> out) { (void)out.Recv(); }
#endif

#ifdef RANGE_OVER_A_SEND_CHAN  // expect: begin
void Case(csp::SendChan<int> out) {
  for (int v : out) (void)v;
}
#endif

#ifdef SEND_ON_A_RECV_CHAN  // expect: no member named 'Send'
void Case(csp::RecvChan<int> in) { in.Send(1); }
#endif

#ifdef CLOSE_ON_A_RECV_CHAN  // expect: no member named 'Close'
void Case(csp::RecvChan<int> in) { in.Close(); }
#endif

#ifdef ON_SEND_OF_A_RECV_CHAN  // expect: no member named 'OnSend'
void Case(csp::RecvChan<int> in) { (void)in.OnSend(1); }
#endif

#ifdef BOTH_ENDS_FROM_ONE  // expect: csp::Chan<int> | Chan<int>
csp::Chan<int> Case(csp::RecvChan<int> in) { return in; }
#endif

#ifdef ANOTHER_ELEMENT_TYPE  // expect: no match for 'operator==' | invalid operands
bool Case(csp::Chan<int> a, csp::Chan<long> b) { return a == b; }
#endif

#ifdef THROWING_MOVE  // expect: moving and destroying T must not throw
csp::Chan<ThrowingMove> Case() { return csp::MakeChan<ThrowingMove>(); }
#endif

#ifdef THROWING_DESTRUCTOR  // expect: moving and destroying T must not throw
csp::Chan<ThrowingEnd> Case() { return csp::MakeChan<ThrowingEnd>(); }
#endif

#ifdef CONST_ELEMENT  // expect: T must be a plain object type
csp::Chan<const int> Case() { return csp::MakeChan<const int>(); }
#endif

#ifdef REFERENCE_ELEMENT  // expect: T must be a plain object type
void Case() { csp::Chan<int&> nil; }
#endif

#ifdef VOID_ELEMENT  // expect: moving and destroying T must not throw | T must be a plain
void Case() { csp::Chan<void> nil; }
#endif

#ifdef COPY_OF_A_MOVE_ONLY_VALUE  // expect: cannot bind | no matching
void Case(csp::Chan<std::unique_ptr<int>> ch, std::unique_ptr<int>& lvalue) { ch.Send(lvalue); }
#endif

#ifdef NO_CAPACITY_AND_NO_LIMIT  // expect: MakeChan
auto Case() { return csp::MakeChan<int>("many"); }
#endif

#ifdef IGNORED_TRY  // expect: nodiscard | unused | ignoring return value
#pragma GCC diagnostic error "-Wunused-result"
void Case(csp::SendChan<int> out) { out.TrySend(1); }
#endif
