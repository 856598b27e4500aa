// What a worker does that has nothing to do: it watches, or parks (idle.h).
//
// The watcher steals by waiting time, not by presence: it notes what it sees in a busy worker's
// queues, naps, and takes only what was there before the nap and still is. Fibers that talk to
// each other are resumed within nanoseconds and so stay together on one worker, where a message
// costs a switch (15 ns) instead of a cache line across cores (450 ns) or a thread hand-over
// (13,000 ns). The exceptions: fibers that yield by themselves share their worker for no reason,
// and are taken at the second look without having waited.
#include <algorithm>
#include <chrono>
#include <thread>

#include "absl/time/time.h"
#include "csp/base/clock.h"
#include "csp/sched/internal/worker.h"
#include "csp/sched/runtime.h"

namespace csp::internal {
namespace {

// Short at first, for work that has just been left waiting; longer where nothing was found: each
// nap costs the machine some microseconds, and the busy workers a look into their queues.
absl::Duration NapLength(int fruitless) {
  return absl::Microseconds(fruitless == 0 ? 20 : fruitless == 1 ? 40 : 80);
}

// So many ready fibers are work for two, though each of them is resumed before a nap is over (which
// the kernel makes longer by 50 us): for so many looks, a millisecond or two, the watcher spins.
constexpr std::uint64_t kManyWaiting = 32;
constexpr int kLooksAtMany = 200;

// Nothing is announced meanwhile: the level stays kAwake, so nobody calls, and what is pushed is
// seen at the next look (idle.h, invariant 1).
void SpinForSomeMicroseconds() {
  for (int i = 0; i < 300; ++i) CpuRelax();
}

// So many naps that found nothing, and the watcher sleeps until it is woken by the next push.
constexpr int kNapsBeforeSleep = 16;

}  // namespace

// Returns nothing only when the runtime stops.
Runnable Worker::FindWork() {
  for (;;) {
    if (runtime_.stopped()) return {};
    Runnable next;
    if (runtime_.idle().WatchOrPark(seat_)) {
      next = Watch();
      runtime_.NoteWork();
      if (Idle::Seat* heir = runtime_.idle().Resign()) runtime_.Call(*heir);
    } else {
      if (!inbox_.empty()) {
        // Came before the seat was taken: nobody will call. Whoever unlinks the seat calls it.
        SummonIfIdle();
      }
      runtime_.AwaitCall(seat_);
      runtime_.idle().Unparked();
      next = Next();
      if (next) {
        runtime_.NoteWork();
        if (Idle::Seat* heir = runtime_.idle().TakeHeir()) runtime_.Call(*heir);
      }
    }
    if (next) return next;
  }
}

Runnable Worker::Watch() {
  const std::int64_t begin = NowNanos();
  // What was there when it last found something and still is has waited for longer than a nap.
  if (begin >= DeadlineAfter(found_work_at_, NapLength(0))) {
    if (Runnable next = StealWaiting(sightings_.get())) return Found(next, begin, naps_);
  } else {
    Look(sightings_.get());
  }
  // What the last find was worth: a few tiny tasks cost their worker more than they took off it.
  constexpr absl::Duration kWorthwhile = absl::Microseconds(100);
  int looks = 0;
  int fruitless = begin < DeadlineAfter(found_work_at_, kWorthwhile) ? naps_ + 1 : 0;
  for (;;) {
    if (runtime_.frozen()) runtime_.Freeze();
    if (runtime_.stopped()) return {};
    const bool all_idle =
        runtime_.idle().count() == static_cast<std::uint32_t>(runtime_.worker_count());
    const bool may_sleep = all_idle || fruitless >= kNapsBeforeSleep;
    bool roused = false;
    if (looks < kLooksAtMany && SeesMany()) {
      ++looks;
      SpinForSomeMicroseconds();
    } else {
      if (!may_sleep || !Sleep(all_idle)) Nap(fruitless);
      roused = runtime_.idle().Wake();
    }
    const std::int64_t now = NowNanos();
    coarse_now_.store(now, std::memory_order_relaxed);
    FireAllTimers();
    Runnable next = Next();
    if (!next) next = StealWaiting(sightings_.get());
    if (next) return Found(next, now, fruitless);
    fruitless = roused ? 0 : fruitless + 1;
  }
}

Runnable Worker::Found(Runnable work, std::int64_t now, int naps) {
  found_work_at_ = now;
  naps_ = naps;
  return work;
}

// For long. False, and it has not slept, if some queue shows something. Asks twice: the second
// answer, after the announcement, is the one that counts, but costs busy workers a heavy barrier
// and the pushes meanwhile a call.
bool Worker::Sleep(bool all_idle) {
  const std::int64_t until = NextTimer();
  if (!Quiet(until)) return false;
  if (!runtime_.idle().MaySleep(until, [&] { return Quiet(until); })) return false;
  runtime_.SleepUntil(until, all_idle);
  return true;
}

// For some microseconds, while local pushes and earlier timers wake nobody.
void Worker::Nap(int fruitless) {
  const std::int64_t until = std::min(NextTimer(), DeadlineAfter(NowNanos(), NapLength(fruitless)));
  if (runtime_.idle().MayNap([&] { return inbox_.size() == 0 && runtime_.inject().size() == 0; })) {
    runtime_.Nap(until);
  }
}

// At its last look.
bool Worker::SeesMany() const {
  for (int i = 0; i < runtime_.worker_count(); ++i) {
    const ReadyQueue::Sight& seen = sightings_[static_cast<std::size_t>(i)].ready;
    if (seen.pushed - seen.popped >= kManyWaiting) return true;
  }
  return false;
}

// True if no queue shows anything and no timer is due before `until`. (For sure, if the sleep has
// been announced.)
bool Worker::Quiet(std::int64_t until) {
  if (runtime_.inject().size() != 0 || inbox_.size() != 0 || NextTimer() < until) return false;
  if (until <= NowNanos()) return false;  // a clock that does not run may just have been moved
  for (int i = 0; i < runtime_.worker_count(); ++i) {
    Worker& other = runtime_.worker(i);
    if (!other.ready_.LooksEmpty()) return false;
  }
  return !runtime_.stopped();
}

std::int64_t Worker::NextTimer() const {
  std::int64_t next = kForever;
  for (int i = 0; i < runtime_.worker_count(); ++i) {
    next = std::min(next, runtime_.worker(i).timers_.next());
  }
  return next;
}

void Worker::FireAllTimers() {
  for (int i = 0; i < runtime_.worker_count(); ++i) {
    TimerHeap& heap = runtime_.worker(i).timers_;
    if (heap.next_hint() == kForever) continue;
    const std::int64_t now = NowNanos();
    if (heap.next_hint() <= now) runtime_.worker(i).FireTimers(*this, now);
  }
}

Worker::Sighting Worker::LookAt(const Worker& other) {
  return {other.ready_.Look(), other.ticks_.value(), other.yields_.value()};
}

void Worker::Look(Sighting* sightings) {
  for (int i = 0; i < runtime_.worker_count(); ++i) {
    Worker& other = runtime_.worker(i);
    if (&other != this) sightings[i] = LookAt(other);
  }
}

// By a busy worker, about once in a millisecond. Who computes neither fires its timers nor runs
// what it has woken; a watcher would see to both, but with all workers busy there is none.
void Worker::GlanceAtOthers(std::int64_t now) {
  last_glance_ = now;
  if (idle_.count() != 0) return;
  ReadyQueue::Loot loot;
  const int count = runtime_.worker_count();
  for (int i = 0; i < std::min(count, kGlanceAt); ++i) {
    const int k = next_glance_;
    next_glance_ = (k + 1) % count;
    Worker& other = runtime_.worker(k);
    if (&other == this) continue;
    if (other.timers_.next_hint() <= now) other.FireTimers(*this, now);
    Sighting& before = sightings_[static_cast<std::size_t>(k)];
    const bool computes = other.ticks_.value() == before.ticks;
    if (computes && loot.count == 0) StealFrom(other, before, loot);
    before = LookAt(other);
  }
  if (loot.count == 0) return;
  counters.steals.Add(loot.count);
  ready_.Add(loot);
  AfterLocalPush();  // while in hand it was nowhere
}

Runnable Worker::StealWaiting(Sighting* sightings) {
  const auto count = static_cast<std::uint32_t>(runtime_.worker_count());
  const std::uint32_t first = random_.Below(count);
  ReadyQueue::Loot loot;
  for (std::uint32_t i = 0; i < count && loot.count == 0; ++i) {
    const std::uint32_t k = (first + i) % count;
    Worker& victim = runtime_.worker(static_cast<int>(k));
    if (&victim != this) StealFrom(victim, sightings[k], loot);
  }
  Look(sightings);
  if (loot.count == 0) return {};
  counters.steals.Add(loot.count);
  ready_.Add(loot);
  return Next();
}

// Takes what has been waiting since `before`. Looks first: a visit costs the victim microseconds.
void Worker::StealFrom(Worker& victim, const Sighting& before, ReadyQueue::Loot& loot) {
  const ReadyQueue::Sight now = victim.ready_.Look();
  // The slot is for when the victim's running fiber suspends, which is about to happen; unless it
  // has not for a whole nap.
  const bool stuck = victim.ticks_.value() == before.ticks;
  if (victim.yields_.value() != before.yields && victim.ready_.yielded_count() != 0) {
    victim.ready_.StealYielded(loot);
  } else if ((stuck && before.ready.slot != nullptr && now.slot == before.ready.slot) ||
             before.ready.pushed > now.popped ||
             (now.oldest_newborn != 0 && now.oldest_newborn == before.ready.oldest_newborn)) {
    victim.ready_.StealSince(before.ready, stuck, loot);
  } else if (stuck && victim.ready_.yielded_count() != 0) {
    victim.ready_.StealYielded(loot);  // the last of them has begun to compute
  }
}

}  // namespace csp::internal
