#include "csp/net/internal/open_file.h"

#include <errno.h>
#include <fcntl.h>

#include <exception>
#include <utility>

#include "csp/net/internal/system.h"

namespace csp::internal {

OpenFile::~OpenFile() = default;

// --- Who uses it.

bool OpenFile::Enter() {
  std::uint32_t users = users_.load(std::memory_order_relaxed);
  do {
    if ((users & kClosed) != 0) return false;
    // (seq_cst: see DropOrphans.)
  } while (!users_.compare_exchange_weak(users, users + 1, std::memory_order_seq_cst,
                                         std::memory_order_relaxed));
  return true;
}

// Release: who closes the descriptor does so after all that was done with it.
void OpenFile::Leave() {
  if (users_.fetch_sub(1, std::memory_order_acq_rel) == (kClosed | 1)) Finish();
}

bool OpenFile::Close() {
  std::uint32_t users = users_.load(std::memory_order_relaxed);
  do {
    if ((users & kClosed) != 0) return false;
  } while (!users_.compare_exchange_weak(users, (users + 1) | kClosed, std::memory_order_acq_rel,
                                         std::memory_order_relaxed));
  WakeAll(Direction::kRead);
  WakeAll(Direction::kWrite);
  Leave();
  return true;
}

int OpenFile::Release() {
  std::uint32_t idle = 0;
  // As its only user, whom nobody joins; so Leave would close it, and is not called.
  if (!users_.compare_exchange_strong(idle, kClosed | 1, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
    return (idle & kClosed) != 0 ? -EBADF : -EBUSY;
  }
  Withdraw();
  return fd_;
}

void OpenFile::Finish() {
  Withdraw();
  TheSystem().Close(fd_);
}

// Out of the reactor, and with the flags that it came with.
void OpenFile::Withdraw() {
  for (const auto& registration : registrations_) registration->Deregister();
  if (!restore_blocking_) return;
  const int flags = TheSystem().Flags(fd_);
  if (flags >= 0) TheSystem().SetFlags(fd_, flags & ~O_NONBLOCK);
}

// --- Who waits.

bool OpenFile::Link(Direction direction, Role role, Waiter& waiter, std::int64_t& deadline) {
  OneSide& side = Side(direction);
  bool start;
  {
    const std::lock_guard lock(side.mu);
    if (closed()) return false;
    deadline = side.deadline.load(std::memory_order_relaxed);
    List(side, role).PushBack(waiter);
    start = !std::exchange(side.armed, true);
  }
  if (start) StartWait(direction);
  return true;
}

void OpenFile::Unlink(Direction direction, Role role, Waiter& waiter) {
  OneSide& side = Side(direction);
  const std::lock_guard lock(side.mu);
  List(side, role).Remove(waiter);
}

void OpenFile::PassOn(Direction direction) {
  OneSide& side = Side(direction);
  {
    const std::lock_guard lock(side.mu);
    if (side.takers.empty() || std::exchange(side.armed, true)) return;
  }
  StartWait(direction);
}

void OpenFile::Ready(Direction direction) noexcept {
  OneSide& side = Side(direction);
  WakeList wake;
  {
    const std::lock_guard lock(side.mu);
    side.armed = false;
    side.drained.store(false, std::memory_order_relaxed);
    wake.Claim(side.watchers, false);
    if (Waiter* taker = side.takers.PopClaimed()) {
      taker->ok = !side.takers.empty();
      wake.Add(*taker);
    }
  }
  wake.WakeAll();
}

void OpenFile::WakeAll(Direction direction) {
  OneSide& side = Side(direction);
  WakeList wake;
  {
    const std::lock_guard lock(side.mu);
    wake.Claim(side.watchers, false);
    wake.Claim(side.takers, false);
  }
  wake.WakeAll();
}

void OpenFile::SetDeadline(Direction direction, std::int64_t deadline) {
  OneSide& side = Side(direction);
  WakeList wake;
  {
    const std::lock_guard lock(side.mu);
    side.deadline.store(deadline, std::memory_order_release);
    wake.Claim(side.takers, false);
  }
  wake.WakeAll();
}

// --- The reactor.

void OpenFile::StartWait(Direction direction) noexcept {
  int error = 0;
  try {
    if (Reactor::Registration* registration = Registered(error)) {
      registration->Wait(direction);
      return;
    }
  } catch (const std::exception&) {
    error = ENOMEM;
  }
  OneSide& side = Side(direction);
  side.failure.store(error, std::memory_order_release);
  {
    const std::lock_guard lock(side.mu);
    side.armed = false;
  }
  WakeAll(direction);
}

Reactor::Registration* OpenFile::Registered(int& error) {
  Reactor::Registration* registration = registration_.load(std::memory_order_seq_cst);
  if (registration != nullptr && !registration->orphaned()) [[likely]] {
    return registration;
  }
  const std::lock_guard lock(register_mu_);
  registration = registration_.load(std::memory_order_relaxed);
  if (registration != nullptr && !registration->orphaned()) return registration;
  if (registration != nullptr) DropOrphans();
  std::shared_ptr<Reactor> reactor = Reactor::OfCurrentRuntime(error);
  if (reactor == nullptr) return nullptr;
  auto made = std::make_unique<Reactor::Registration>(std::move(reactor), fd_, *this, error);
  if (error != 0) return nullptr;
  registrations_.push_back(std::move(made));
  registration_.store(registrations_.back().get(), std::memory_order_release);
  return registrations_.back().get();
}

// By the caller of Registered. Whoever enters after the pointer is gone finds none; if nobody has
// entered before, nobody is about to use an old one. (Else they stay, with their reactors, until the
// next time.)
void OpenFile::DropOrphans() {
  registration_.store(nullptr, std::memory_order_seq_cst);
  if (users_.load(std::memory_order_seq_cst) != 1) return;
  for (const auto& registration : registrations_) registration->Deregister();
  registrations_.clear();
}

int OpenFile::TakeFailure(Direction direction) {
  Atomic<int>& failure = Side(direction).failure;
  if (failure.load(std::memory_order_relaxed) == 0) [[likely]] {
    return 0;
  }
  return failure.exchange(0, std::memory_order_acq_rel);
}

}  // namespace csp::internal
