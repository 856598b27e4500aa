// What holds for every object of csp/sync alike: a wait that is cancelled leaves nothing behind, and
// whoever has waited may destroy the object at once.

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "csp/csp.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"
#include "tests/support/scale.h"

namespace csp {
namespace {

using CancelledWaitTest = RuntimeTest;
CSP_INSTANTIATE(CancelledWaitTest);

// What follows does more with locks than clang's analysis can follow.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wthread-safety-analysis"
#endif

constexpr auto kLong = absl::Hours(1);

// An object, and one way to wait for it.
struct Scene {
  std::string way;
  std::function<void()> wait;     // does not end by itself
  std::function<void()> look;     // finds what is to be found where nobody waits
  std::function<void()> serve;    // lets the first who waits go on
  std::function<void()> destroy;  // the object
};

// Of an object that its first waiter destroys.
template <class T, class... Args>
std::shared_ptr<std::unique_ptr<T>> New(Args&&... args) {
  return std::make_shared<std::unique_ptr<T>>(std::make_unique<T>(std::forward<Args>(args)...));
}

using Way = std::pair<const char*, std::function<void()>>;

// The same scene for each of the ways to wait.
template <class Owner, class Look, class Serve>
std::vector<Scene> ForEach(const std::string& what, Owner owner, std::vector<Way> ways, Look look,
                           Serve serve) {
  std::vector<Scene> scenes;
  for (auto& [way, wait] : ways) {
    scenes.push_back({what + "::" + way, wait, look, serve, [owner] { owner->reset(); }});
  }
  return scenes;
}

// One way of several, since each scene needs an object of its own.
Scene Only(int which, std::vector<Scene> scenes) {
  return scenes[static_cast<std::size_t>(which) % scenes.size()];
}

// What waits by Wait, WaitFor and OnWait.
template <class T, class Serve, class... Args>
Scene Waiting(int which, const char* what, Serve serve, Args... args) {
  auto owner = New<T>(args...);
  T* object = owner->get();
  return Only(which, ForEach(
                         what, owner,
                         {{"Wait", [=] { object->Wait(); }},
                          {"WaitFor", [=] { EXPECT_TRUE(object->WaitFor(kLong)); }},
                          {"OnWait", [=] { Select(object->OnWait()); }}},
                         [=] { EXPECT_FALSE(object->WaitFor(absl::ZeroDuration())); },
                         [=] { serve(*object); }));
}

Scene OfMutex(int which) {
  auto owner = New<Mutex>();
  Mutex* mu = owner->get();
  mu->lock();
  return Only(which, ForEach(
                         "Mutex", owner,
                         {{"try_lock_for",
                           [=] {
                             EXPECT_TRUE(mu->try_lock_for(kLong));
                             mu->unlock();
                           }},
                          {"OnLock", [=] { const auto lock = Select(mu->OnLock()); }}},
                         [=] { EXPECT_FALSE(mu->try_lock()); }, [=] { mu->unlock(); }));
}

Scene OfWriter(int which) {
  auto owner = New<RWMutex>();
  RWMutex* mu = owner->get();
  mu->lock_shared();
  return Only(which, ForEach(
                         "RWMutex", owner,
                         {{"try_lock_for",
                           [=] {
                             EXPECT_TRUE(mu->try_lock_for(kLong));
                             mu->unlock();
                           }},
                          {"OnLock", [=] { const auto lock = Select(mu->OnLock()); }}},
                         [=] {
                           // A writer in the line would keep other readers out.
                           EXPECT_TRUE(mu->try_lock_shared());
                           mu->unlock_shared();
                         },
                         [=] { mu->unlock_shared(); }));
}

Scene OfReader(int which) {
  auto owner = New<RWMutex>();
  RWMutex* mu = owner->get();
  mu->lock();
  return Only(which, ForEach(
                         "RWMutex", owner,
                         {{"try_lock_shared_for",
                           [=] {
                             EXPECT_TRUE(mu->try_lock_shared_for(kLong));
                             mu->unlock_shared();
                           }},
                          {"OnRLock", [=] { const auto lock = Select(mu->OnRLock()); }}},
                         [=] { EXPECT_FALSE(mu->try_lock_shared()); }, [=] { mu->unlock(); }));
}

Scene OfCondVar(int which) {
  struct Monitor {
    Mutex mu;
    CondVar changed;
    int tickets = 0;
  };
  auto owner = New<Monitor>();
  Monitor* m = owner->get();
  const auto ready = [m] { return m->tickets > 0; };
  return Only(which, ForEach(
                         "CondVar", owner,
                         {{"Wait",
                           [=] {
                             const MutexLock lock(m->mu);
                             m->changed.Wait(m->mu, ready);
                             --m->tickets;
                           }},
                          {"WaitFor",
                           [=] {
                             const MutexLock lock(m->mu);
                             EXPECT_TRUE(m->changed.WaitFor(m->mu, kLong, ready));
                             --m->tickets;
                           }}},
                         [=] {
                           EXPECT_TRUE(m->mu.try_lock());  // nobody has kept it
                           m->mu.unlock();
                         },
                         // Under the mutex, since the waiter destroys all of it.
                         [=] {
                           const MutexLock lock(m->mu);
                           ++m->tickets;
                           m->changed.NotifyOne();
                         }));
}

Scene OfSemaphore(int which) {
  auto owner = New<Semaphore>(3, 1);
  Semaphore* semaphore = owner->get();
  return Only(which, ForEach(
                         "Semaphore", owner,
                         {{"Acquire", [=] { semaphore->Acquire(3); }},
                          {"AcquireFor", [=] { EXPECT_TRUE(semaphore->AcquireFor(kLong, 3)); }},
                          {"OnAcquire", [=] { Select(semaphore->OnAcquire(3)); }}},
                         [=] {
                           // Not even behind one who waits for more.
                           EXPECT_TRUE(semaphore->TryAcquire(1));
                           EXPECT_EQ(semaphore->available(), 0);
                           semaphore->Release(1);
                         },
                         [=] { semaphore->Release(2); }));
}

Scene OfBarrier(int which) {
  auto owner = New<Barrier>(3);
  Barrier* barrier = owner->get();
  const Barrier::Phase phase = barrier->Arrive();
  return Only(which, ForEach(
                         "Barrier", owner,
                         {{"Wait", [=] { barrier->Wait(phase); }},
                          {"WaitFor", [=] { EXPECT_TRUE(barrier->WaitFor(phase, kLong)); }},
                          {"OnWait", [=] { Select(barrier->OnWait(phase)); }}},
                         [=] { EXPECT_FALSE(barrier->TryWait(phase)); },
                         [=] { barrier->Arrive(), barrier->Arrive(); }));
}

// Its second party: an arrival that is cancelled has not been one.
Scene OfArrival(int /*which*/) {
  auto owner = New<Barrier>(2);
  Barrier* barrier = owner->get();
  return {"Barrier::ArriveAndWait", [=] { (void)barrier->ArriveAndWait(); },
          [=] { EXPECT_FALSE(barrier->TryWait(0)); }, [=] { barrier->Arrive(); },
          [=] { owner->reset(); }};
}

// Fresh ones, in one of the ways that each has.
std::vector<Scene> EveryScene(int which) {
  return {
      OfMutex(which),
      OfWriter(which),
      OfReader(which),
      OfCondVar(which),
      OfSemaphore(which),
      OfBarrier(which),
      OfArrival(which),
      Waiting<Event>(which, "Event", [](Event& event) { event.Set(); }),
      Waiting<AutoResetEvent>(which, "AutoResetEvent", [](AutoResetEvent& event) { event.Set(); }),
      Waiting<Latch>(
          which, "Latch", [](Latch& latch) { latch.CountDown(); }, 1),
      Waiting<WaitGroup>(
          which, "WaitGroup", [](WaitGroup& group) { group.Done(); }, 1),
  };
}

template <class R>
bool Parked(const Task<R>& task) {
  return EventuallyTrue([name = "fiber " + std::to_string(task.number()) + " parked in "] {
    return DumpFibers().find(name) != std::string::npos;
  });
}

// Cancelled at any moment: before it waits, on the way to it, in it. The next one who waits gets
// what he would have got without.
TEST_P(CancelledWaitTest, LeavesNothingBehind) {
  Here([] {
    for (int round = 0; round < std::max(Rounds(24), 6); ++round) {
      for (const Scene& scene : EveryScene(round)) {
        Task<void> cancelled = Go([&] { scene.wait(); });
        if (round % 2 == 0) {
          EXPECT_TRUE(Parked(cancelled)) << scene.way;
        } else {
          for (int i = 0; i < round / 2; ++i) Yield();
        }
        cancelled.Cancel();
        EXPECT_THROW(cancelled.Join(), TaskCancelled) << scene.way;
        scene.look();
        Task<void> next = Go([&] { scene.wait(); });
        EXPECT_TRUE(Parked(next)) << scene.way;
        scene.serve();
        next.Join();
        scene.destroy();
      }
    }
  });
}

// A notification, a Set, a permit and a lock that come at that moment are not lost on it.
TEST_P(CancelledWaitTest, TakesNothingFromTheNext) {
  Here([] {
    for (int round = 0; round < std::max(Rounds(600), 12); ++round) {
      for (const Scene& scene : EveryScene(round)) {
        Task<void> cancelled = Go([&] { scene.wait(); });
        for (int i = 0; i < round % 7; ++i) Yield();
        Task<void> server = Go([&] { scene.serve(); });
        if (round % 3 == 0) Yield();
        cancelled.Cancel();
        bool had = true;
        try {
          cancelled.Join();
        } catch (const TaskCancelled&) {
          had = false;
        }
        // Who has not had it finds it, without anybody's help.
        if (!had) Go([&] { scene.wait(); }).Join();
        server.Join();
        scene.destroy();
      }
    }
  });
}

TEST_P(CancelledWaitTest, WhoeverHasWaitedMayDestroyTheObject) {
  Here([] {
    for (int round = 0; round < Rounds(300); ++round) {
      for (const Scene& scene : EveryScene(round)) {
        // Copied, so that nothing but the object goes.
        Task<void> server = Go([serve = scene.serve] { serve(); });
        scene.wait();
        scene.destroy();
        server.Join();
      }
    }
  });
}

// Destructors are noexcept, and one that runs in a cancelled fiber on no exception's way must get
// the lock as any other does.
TEST_P(CancelledWaitTest, ADestructorOfACancelledFiberGetsTheLock) {
  Here([] {
    Mutex mu;
    RWMutex rw;
    Once once;
    std::vector<int> locked;  // guarded by all of them
    struct LocksAtItsEnd {
      Mutex& mu;
      RWMutex& rw;
      Once& once;
      std::vector<int>& locked;
      ~LocksAtItsEnd() {
        const MutexLock lock(mu);
        locked.push_back(1);
        { const ReaderLock reader(rw); }
        const WriterLock writer(rw);
        locked.push_back(2);
        once.Call([] { ADD_FAILURE() << "it has been done"; });
        locked.push_back(3);
      }
    };
    Event begun, cancelled, entered, go_on;
    Task<void> other = Go([&] {
      mu.lock();
      rw.lock();
      once.Call([&] {
        entered.Set();
        go_on.Wait();
        mu.unlock();
        rw.unlock();
        Yield();
      });
    });
    entered.Wait();
    Task<bool> task = Go([&] {
      const LocksAtItsEnd end{mu, rw, once, locked};
      const Shield shield;
      begun.Set();
      cancelled.Wait();
      return true;
    });
    begun.Wait();
    task.Cancel();
    cancelled.Set();
    EXPECT_TRUE(Parked(task));  // for the mutex
    EXPECT_TRUE(locked.empty());
    go_on.Set();
    EXPECT_TRUE(task.Join());  // it has returned, in spite of all
    EXPECT_EQ(locked, (std::vector<int>{1, 2, 3}));
    other.Join();
  });
}

}  // namespace
}  // namespace csp
