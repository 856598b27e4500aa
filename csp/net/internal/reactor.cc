// Each function here that calls into Asio is called from code that may suspend before and after,
// but does not suspend itself, and is not inlined into such code: Asio's headers use thread-locals.
#include "csp/net/internal/reactor.h"

// Asio's mutexes order all that matters here, and ThreadSanitizer does not know fences.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

#include "csp/base/clock.h"
#include "csp/base/intrusive_list.h"
#include "csp/sched/runtime.h"

namespace csp::internal {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Executor = asio::io_context::executor_type;

// Sleeps of the watcher between two looks at its neighbours (watch.cc): for a timer of the
// kernel's, which would have to be set for each, they are too short.
constexpr std::int64_t kLongestNap = 100'000;

// Room for one pending operation of Asio's.
class Slot {
 public:
  void* Take(std::size_t size) {
    if (size > sizeof room_ || taken_) return ::operator new(size);
    taken_ = true;
    return room_;
  }
  void Return(void* memory) {
    if (memory != room_) {
      ::operator delete(memory);
    } else {
      taken_ = false;
    }
  }

 private:
  alignas(std::max_align_t) std::byte room_[160];
  bool taken_ = false;
};

// What Asio asks a handler for.
template <class T>
class SlotAllocator {
 public:
  using value_type = T;

  explicit SlotAllocator(Slot& slot) : slot_(&slot) {}
  template <class U>
  SlotAllocator(const SlotAllocator<U>& other) : slot_(other.slot()) {}  // NOLINT: converts

  T* allocate(std::size_t count) { return static_cast<T*>(slot_->Take(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t) { slot_->Return(memory); }

  Slot* slot() const { return slot_; }
  template <class U>
  bool operator==(const SlotAllocator<U>& other) const {
    return slot_ == other.slot();
  }

 private:
  Slot* slot_;
};

}  // namespace

struct Reactor::Asio {
  using Timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                           asio::wait_traits<std::chrono::steady_clock>, Executor>;

  // The wait that was given up may still be in its slot when the next one begins.
  Slot timer_slots[2];
  int timer_turn = 0;
  std::mutex mu;  // guards the list
  IntrusiveList<Registration::Slots> registrations;
  std::mutex orphan_mu;         // held by whoever runs the context of an orphan
  asio::io_context context{1};  // which one thread at a time runs
  asio::executor_work_guard<Executor> work{context.get_executor()};
  Timer timer{context};
};

struct Reactor::Registration::Slots : ListNode<Slots> {
  explicit Slots(Asio& asio) : descriptor(asio.context) {}

  Slot waits[2];
  asio::posix::basic_stream_descriptor<Executor> descriptor;
};

class Reactor::WaitHandler {
 public:
  using allocator_type = SlotAllocator<std::byte>;

  WaitHandler(Reactor& reactor, Ref<ReactorClient> client, Direction direction, Slot& slot)
      : reactor_(&reactor), client_(std::move(client)), direction_(direction), slot_(&slot) {}

  allocator_type get_allocator() const noexcept { return allocator_type(*slot_); }

  void operator()(const error_code&) {
    // The poller is on its way out: whoever is woken below need not break it.
    if (reactor_->state_.load(std::memory_order_relaxed) != kReturning) {
      reactor_->state_.store(kReturning, std::memory_order_seq_cst);
    }
    reactor_->waits_.fetch_sub(1, std::memory_order_relaxed);
    client_->Ready(direction_);
  }

 private:
  Reactor* reactor_;  // whose context this is in
  Ref<ReactorClient> client_;
  Direction direction_;
  Slot* slot_;
};

class Reactor::TimerHandler {
 public:
  using allocator_type = SlotAllocator<std::byte>;

  explicit TimerHandler(Slot& slot) : slot_(&slot) {}
  allocator_type get_allocator() const noexcept { return allocator_type(*slot_); }
  void operator()(const error_code&) {}

 private:
  Slot* slot_;
};

[[gnu::noinline]] std::shared_ptr<Reactor> Reactor::OfCurrentRuntime(int& error) {
  static constinit std::mutex mu;
  Runtime& runtime = Runtime::Current();
  const std::lock_guard lock(mu);
  if (auto* reactor = dynamic_cast<Reactor*>(&runtime.poller())) return reactor->shared_from_this();
  try {
    std::shared_ptr<Reactor> reactor(new Reactor);
    runtime.InstallPoller(reactor);
    return reactor;
  } catch (const boost::system::system_error& e) {
    error = e.code().value();
    return nullptr;
  }
}

Reactor::Reactor() : asio_(std::make_unique<Asio>()) {}

Reactor::~Reactor() = default;

// --- Polling.

void Reactor::Poll(std::int64_t until) {
  if (!CurrentClock().Runs() && until != INT64_MIN) until = kForever;  // who moves it breaks
  const std::int64_t now = until == INT64_MIN || until == kForever ? 0 : NowNanos();
  if (until <= now) {
    state_.store(kReturning, std::memory_order_seq_cst);
    RunReady();
  } else if (until - now <= kLongestNap) {
    Nap(until);
  } else {
    Wait(now, until);
  }
  state_.store(kOut, std::memory_order_seq_cst);
}

[[gnu::noinline]] std::size_t Reactor::RunReady() {
  asio_->context.restart();
  return asio_->context.poll();
}

// The context is made ready to run before anybody may stop it.
[[gnu::noinline]] void Reactor::Wait(std::int64_t now, std::int64_t until) {
  if (until != kForever) ArmTimer(now, until);
  asio_->context.restart();
  std::uint32_t state = kOut;
  if (state_.compare_exchange_strong(state, kWaiting, std::memory_order_seq_cst)) {
    asio_->context.run_one();
  }
  state_.store(kReturning, std::memory_order_seq_cst);
  RunReady();
}

void Reactor::Nap(std::int64_t until) {
  if (RunReady() != 0) return;
  std::uint32_t state = kOut;
  if (!state_.compare_exchange_strong(state, kNapping, std::memory_order_seq_cst)) return;
  nap_.Poll(until);
  state_.store(kReturning, std::memory_order_seq_cst);
  RunReady();
}

// One that fires too early does no harm, so it is not set again for each later moment.
void Reactor::ArmTimer(std::int64_t now, std::int64_t until) {
  if (timer_until_ > now && timer_until_ <= until) return;
  timer_until_ = until;
  asio_->timer_turn = 1 - asio_->timer_turn;
  asio_->timer.expires_after(std::chrono::nanoseconds(until - now));
  asio_->timer.async_wait(TimerHandler(asio_->timer_slots[asio_->timer_turn]));
}

[[gnu::noinline]] void Reactor::Break() {
  std::uint32_t state = state_.load(std::memory_order_seq_cst);
  for (;;) {
    if (state == kBroken || state == kReturning) return;
    const std::uint32_t next = state == kOut ? kBroken : kReturning;
    if (state_.compare_exchange_weak(state, next, std::memory_order_seq_cst)) break;
  }
  if (state == kWaiting) asio_->context.stop();
  if (state == kNapping) nap_.Break();
}

bool Reactor::HasSources() const { return waits_.load(std::memory_order_relaxed) != 0; }

// --- The end.

[[gnu::noinline]] void Reactor::RuntimeEnds() {
  orphaned_.store(true, std::memory_order_seq_cst);
  {
    const std::lock_guard lock(asio_->mu);
    Registration::Slots* slots = asio_->registrations.front();
    for (; slots != nullptr; slots = IntrusiveList<Registration::Slots>::Next(slots)) {
      error_code ignored;
      slots->descriptor.cancel(ignored);
    }
  }
  RunOrphan();
}

// What has been ended is still to be told so, and nobody polls.
void Reactor::RunOrphan() {
  const std::shared_ptr<Reactor> stay = shared_from_this();  // the last client may be in there
  const std::lock_guard lock(asio_->orphan_mu);
  RunReady();
}

// --- Registrations.

[[gnu::noinline]] Reactor::Registration::Registration(std::shared_ptr<Reactor> reactor, int fd,
                                                      ReactorClient& client, int& error)
    : reactor_(std::move(reactor)),
      client_(client),
      slots_(std::make_unique<Slots>(*reactor_->asio_)) {
  error_code code;
  slots_->descriptor.assign(fd, code);
  error = code.value();
  if (error != 0) return;
  slots_->descriptor.native_non_blocking(true, code);  // or two first waits at once would set it
  const std::lock_guard lock(reactor_->asio_->mu);
  reactor_->asio_->registrations.PushBack(slots_.get());
}

Reactor::Registration::~Registration() = default;

[[gnu::noinline]] void Reactor::Registration::Wait(Direction direction) {
  Slot& slot = slots_->waits[static_cast<int>(direction)];
  reactor_->waits_.fetch_add(1, std::memory_order_relaxed);
  slots_->descriptor.async_wait(
      direction == Direction::kRead ? asio::posix::descriptor_base::wait_read
                                    : asio::posix::descriptor_base::wait_write,
      WaitHandler(*reactor_, Ref<ReactorClient>::To(client_), direction, slot));
  // Too late for RuntimeEnds, perhaps.
  if (reactor_->orphaned_.load(std::memory_order_seq_cst)) [[unlikely]] {
    error_code ignored;
    slots_->descriptor.cancel(ignored);
    reactor_->RunOrphan();
  }
}

[[gnu::noinline]] void Reactor::Registration::Deregister() {
  {
    const std::lock_guard lock(reactor_->asio_->mu);
    reactor_->asio_->registrations.Remove(slots_.get());
  }
  slots_->descriptor.release();
  if (orphaned()) reactor_->RunOrphan();
}

}  // namespace csp::internal
