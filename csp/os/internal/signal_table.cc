#include "csp/os/internal/signal_table.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <bit>
#include <mutex>

#include "csp/net/internal/system.h"

namespace csp::internal {
namespace {

struct Slot {
  Atomic<SignalMailbox*> mailbox{nullptr};
  Slot* next = nullptr;
};

constinit Atomic<Slot*> slots{nullptr};
constinit Atomic<int> running{0};  // handlers

constinit std::mutex mu;  // guards what follows, and who is in a slot
constinit int users[kSignals + 1] = {};
struct sigaction before[kSignals + 1];

// seq_cst, as all of the handshake with Unsubscribe: either this handler sees that the slot is empty,
// or Unsubscribe sees it running.
void Handle(int number) {
  const int error = errno;
  running.fetch_add(1);
  for (Slot* slot = slots.load(); slot != nullptr; slot = slot->next) {
    if (SignalMailbox* mailbox = slot->mailbox.load()) mailbox->Put(number);
  }
  running.fetch_sub(1);
  errno = error;
}

int Install(int number) {
  if (users[number] == 0) {
    struct sigaction action {};
    action.sa_handler = &Handle;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    if (sigaction(number, &action, &before[number]) != 0) return -errno;
  }
  ++users[number];
  return 0;
}

void Uninstall(int number) {
  if (--users[number] == 0) sigaction(number, &before[number], nullptr);
}

Slot* SlotOf(const SignalMailbox* mailbox) {
  Slot* slot = slots.load();
  while (slot != nullptr && slot->mailbox.load() != mailbox) slot = slot->next;
  return slot;
}

void Enter(SignalMailbox& mailbox) {
  if (Slot* free = SlotOf(nullptr)) {
    free->mailbox.store(&mailbox);
    return;
  }
  auto* slot = new Slot;
  slot->mailbox.store(&mailbox);
  slot->next = slots.load();
  slots.store(slot);
}

void Leave(Slot& slot) {
  slot.mailbox.store(nullptr);
  while (running.load() != 0) sched_yield();
}

int Lowest(SignalSet set) { return std::countr_zero(set) + 1; }

SignalSet Without(SignalSet set, int number) { return set & ~(SignalSet{1} << (number - 1)); }

}  // namespace

void SignalMailbox::Put(int number) noexcept {
  const SignalSet bit = SignalSet{1} << (number - 1);
  if ((wanted_ & bit) == 0) return;
  pending_.fetch_or(bit);
  const std::uint64_t one = 1;
  if (::write(event_fd_, &one, sizeof one) < 0) return;  // it is full, hence readable
}

int SignalMailbox::Take() {
  SignalSet left;
  if (const int number = TakeLowest(left)) return number;
  // Empties the eventfd first: what comes from here on makes it readable again.
  std::uint64_t count;
  (void)TheSystem().Read(event_fd_, &count, sizeof count);
  const int number = TakeLowest(left);
  if (number == 0) return -EAGAIN;
  const std::uint64_t one = 1;
  if (left != 0) (void)TheSystem().Write(event_fd_, &one, sizeof one);
  return number;
}

// 0 if there is none.
int SignalMailbox::TakeLowest(SignalSet& left) {
  SignalSet pending = pending_.load();
  do {
    if (pending == 0) return 0;
    left = Without(pending, Lowest(pending));
  } while (!pending_.compare_exchange_weak(pending, left));
  return Lowest(pending);
}

int Subscribe(SignalMailbox& mailbox, int& failed) {
  const std::lock_guard lock(mu);
  Enter(mailbox);
  SignalSet left = mailbox.wanted();
  for (; left != 0; left = Without(left, Lowest(left))) {
    const int result = Install(Lowest(left));
    if (result == 0) continue;
    failed = Lowest(left);
    for (SignalSet done = mailbox.wanted(); Lowest(done) != failed;
         done = Without(done, Lowest(done))) {
      Uninstall(Lowest(done));
    }
    Leave(*SlotOf(&mailbox));
    return result;
  }
  return 0;
}

void Unsubscribe(SignalMailbox& mailbox) {
  const std::lock_guard lock(mu);
  Slot* slot = SlotOf(&mailbox);
  if (slot == nullptr) return;
  for (SignalSet left = mailbox.wanted(); left != 0; left = Without(left, Lowest(left))) {
    Uninstall(Lowest(left));
  }
  Leave(*slot);
}

}  // namespace csp::internal
