// On the machine; what must hold in every interleaving is in tests/model.
#include "csp/base/asymmetric.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace csp::internal {
namespace {

// Each thread raises its flag and looks at the other's. Without barriers both see the other's down
// in some of so many rounds.
TEST(AsymmetricTest, NotBothMissTheOther) {
  constexpr int kRounds = 3000;
  std::atomic<int> raised_often{0};
  std::atomic<int> raised_rarely{0};
  std::atomic<int> round{0};
  std::atomic<int> ready{0};
  std::vector<char> often_saw(kRounds);
  std::vector<char> rarely_saw(kRounds);
  const auto await_round = [&](int i) {
    if (ready.fetch_add(1) == 1) {
      ready.store(0);
      round.store(i + 1);
    }
    while (round.load(std::memory_order_acquire) <= i) std::this_thread::yield();
  };
  std::thread often([&] {
    for (int i = 0; i < kRounds; ++i) {
      await_round(i);
      raised_often.store(i + 1, std::memory_order_relaxed);
      LightBarrier();
      often_saw[i] = raised_rarely.load(std::memory_order_relaxed) > i;
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    await_round(i);
    raised_rarely.store(i + 1, std::memory_order_relaxed);
    HeavyBarrier();
    rarely_saw[i] = raised_often.load(std::memory_order_relaxed) > i;
  }
  often.join();
  for (int i = 0; i < kRounds; ++i) {
    ASSERT_TRUE(often_saw[i] || rarely_saw[i]) << "both missed the other in round " << i;
  }
}

// An initialiser of the program may start workers, which must find the rule that will hold.
struct AnEarlyObject {
  const bool heavy = has_heavy_barrier;
};
[[gnu::init_priority(200)]] const AnEarlyObject early;

TEST(AsymmetricTest, TheRuleIsMadeBeforeTheFirstInitialiser) {
  EXPECT_EQ(early.heavy, has_heavy_barrier);
}

// What a sandbox installs in a program that has started.
void RefuseMembarrier() {
  sock_filter code[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_membarrier},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  const sock_fprog program{std::size(code), code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    std::_Exit(1);
  }
}

TEST(AsymmetricDeathTest, ABarrierThatIsRefusedLaterEndsTheProcess) {
  if (!has_heavy_barrier) GTEST_SKIP() << "refused from the start";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        RefuseMembarrier();
        HeavyBarrier();
      },
      "csp: membarrier.2. worked when the process started and is now refused");
}

TEST(OwnedLockTest, SectionsExcludeEachOther) {
  constexpr int kOwned = 100'000;
  constexpr int kVisits = 500;
  OwnedLock lock;
  int counter = 0;  // TSan, too, watches this one
  std::vector<std::thread> visitors;
  for (int i = 0; i < 2; ++i) {
    visitors.emplace_back([&] {
      for (int k = 0; k < kVisits; ++k) {
        lock.EnterAsVisitor();
        ++counter;
        lock.LeaveAsVisitor();
      }
    });
  }
  for (int k = 0; k < kOwned; ++k) {
    lock.EnterAsOwner();
    ++counter;
    lock.LeaveAsOwner();
  }
  for (std::thread& visitor : visitors) visitor.join();
  EXPECT_EQ(counter, kOwned + 2 * kVisits);
}

}  // namespace
}  // namespace csp::internal
