// The suite on csp. README.md says what each job measures; compare.py runs this
// program beside its peers.

#include <functional>

#include "bench/harness/harness.h"
#include "bench/jobs/jobs.h"
#include "csp/csp.h"

namespace bench {
namespace {

void RunOnCsp(int workers, const std::function<void()>& task) {
  csp::Run(
      [&] {
        task();
        return 0;
      },
      csp::RunOptions{.workers = workers});
}

constexpr Implementation kJobs[] = {
    {"spawn", Spawn},
    {"spawnjoin", SpawnJoin},
    {"spawnblock", SpawnBlock},
    {"yield", Yield},
    {"pingpong", PingPong},
    {"buffered", Buffered},
    {"mpmc", Mpmc},
    {"unbuf_mpmc", UnbufferedMpmc},
    {"select4", Select4},
    {"selectbuf", SelectBuffered},
    {"seltimeout", SelectTimeout},
    {"ring", Ring},
    {"sieve", Sieve},
    {"skynet", Skynet},
    {"mutex", Mutex},
    {"scope", Scope},
    {"canceltree", CancelTree},
    {"cancelscope", CancelScope},
    {"parked", Parked},
    {"sleepers", Sleepers},
    {"wakelatency", WakeLatency},
    {"cpu", Cpu},
};

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::Main(argc, argv, {"csp", bench::kJobs, bench::RunOnCsp});
}
