// md5_tree: the MD5 sum of each file below a directory. Go's pipeline of bounded parallelism
// (https://go.dev/blog/pipelines): every stage is a task, every arrow a channel.
//
//   walker --paths--> N digesters --outcomes--> collector
//
// Each stage ends when its input is closed, and so hands the end on to the next.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "csp/csp.h"
#include "examples/md5/digest.h"
#include "examples/md5/flags.h"
#include "examples/md5/walk.h"

namespace {

using md5::Outcome;

// Closes a channel at the end of the task that fills it, also if that is an exception: else whoever
// receives would wait for ever.
template <class T>
class Closing {
 public:
  explicit Closing(csp::SendChan<T> channel) : channel_(std::move(channel)) {}
  ~Closing() { channel_.Close(); }
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;

 private:
  const csp::SendChan<T> channel_;
};

// Digests paths until there are no more. Files are read on a thread of the pool for blocking calls,
// so that a slow disk holds no worker. Most are so small that the way there costs more than they
// do: one digester takes its share of all that lie ready, and leaves as much to the others.
void Digest(csp::RecvChan<std::string> paths, csp::SendChan<Outcome> outcomes, std::size_t jobs) {
  std::vector<unsigned char> buffer(std::size_t{1} << 20);
  std::vector<Outcome> batch;
  for (std::string& path : paths) {
    batch.push_back({.path = std::move(path)});
    std::optional<std::string> next;
    for (std::size_t share = paths.len() / jobs; share > 0; --share) {
      if (!paths.TryRecv(next) || !next) break;
      batch.push_back({.path = std::move(*next)});
    }
    csp::Blocking([&] {
      for (Outcome& outcome : batch) md5::DigestFile(outcome, buffer);
    });
    for (Outcome& outcome : batch) outcomes.Send(std::move(outcome));
    batch.clear();
  }
}

struct Pipeline {
  csp::RecvChan<Outcome> outcomes;
  csp::Task<void> end;  // throws what a stage has thrown
};

Pipeline StartPipeline(const std::string& directory, std::size_t jobs) {
  auto paths = csp::MakeChan<std::string>(16 * jobs);
  auto outcomes = csp::MakeChan<Outcome>(16 * jobs);
  csp::Task<void> walker = csp::Go([=] {
    const Closing<std::string> closing(paths);
    md5::Walk(directory, paths, outcomes);
  });
  std::vector<csp::Task<void>> digesters;
  for (std::size_t i = 0; i < jobs; ++i) {
    digesters.push_back(csp::Go(Digest, paths, outcomes, jobs));
  }
  csp::Task<void> end = csp::Go(
      [outcomes](csp::Task<void> walker, std::vector<csp::Task<void>> digesters) {
        const Closing<Outcome> closing(outcomes);
        for (csp::Task<void>& digester : digesters) digester.Join();
        walker.Join();  // last: without digesters it would wait for them
      },
      std::move(walker), std::move(digesters));
  return {outcomes, std::move(end)};
}

// Takes in all outcomes, and says now and then how far they are, if there is somebody to see it.
std::vector<Outcome> Collect(csp::RecvChan<Outcome> outcomes) {
  const bool watched = isatty(STDERR_FILENO) != 0;
  std::vector<Outcome> all;
  csp::Ticker ticker(absl::Milliseconds(100));
  for (bool open = true; open;) {
    csp::Select(
        outcomes.OnRecv() >>
            [&](std::optional<Outcome> outcome) {
              open = outcome.has_value();
              if (open) all.push_back(std::move(*outcome));
            },
        csp::When(
            watched, ticker.OnTick() >>
                         [&](std::int64_t) { std::fprintf(stderr, "\r%zu files", all.size()); }));
  }
  if (watched) std::fprintf(stderr, "\r\033[K");
  return all;
}

// Prints sums to the standard output, and what went wrong to the standard error.
bool Print(std::vector<Outcome>& outcomes) {
  std::sort(outcomes.begin(), outcomes.end(),
            [](const Outcome& a, const Outcome& b) { return a.path < b.path; });
  bool good = true;
  for (const Outcome& outcome : outcomes) {
    if (outcome.error.empty()) {
      const std::string line = md5::FormatLine(outcome);
      std::fwrite(line.data(), 1, line.size(), stdout);
    } else {
      std::fprintf(stderr, "md5_tree: %s: %s\n", outcome.path.c_str(), outcome.error.c_str());
      good = false;
    }
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::perror("md5_tree: standard output");
    return false;
  }
  return good;
}

std::string Count(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

int Md5Tree(const md5::Flags& flags) {
  const absl::Time start = csp::Now();
  const int jobs = flags.jobs != 0 ? flags.jobs : 2 * csp::GetStats().workers;
  Pipeline pipeline = StartPipeline(flags.directory, static_cast<std::size_t>(jobs));
  std::vector<Outcome> outcomes = Collect(pipeline.outcomes);
  pipeline.end.Join();
  const bool good = Print(outcomes);

  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  for (const Outcome& outcome : outcomes) {
    files += outcome.error.empty() ? 1 : 0;
    bytes += outcome.bytes;
  }
  const std::uint64_t failures = outcomes.size() - files;
  const std::string not_read = failures == 0 ? "" : ", " + std::to_string(failures) + " not read";
  const csp::RuntimeStats stats = csp::GetStats();
  std::fprintf(stderr, "md5_tree: %s%s, %.1f MB in %.2f s; %s on %s\n",
               Count(files, "file").c_str(), not_read.c_str(), static_cast<double>(bytes) / 1e6,
               absl::ToDoubleSeconds(csp::Now() - start),
               Count(stats.tasks_spawned, "fiber").c_str(),
               Count(static_cast<std::uint64_t>(stats.workers), "worker").c_str());
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<md5::Flags> flags = md5::ParseFlags({argv + 1, argv + argc});
  if (!flags) return 2;
  if (flags->help) {
    std::fputs(md5::kUsage, stdout);
    return 0;
  }
  try {
    return csp::Run([&] { return Md5Tree(*flags); }, {.workers = flags->workers});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "md5_tree: %s\n", e.what());
    return 1;
  }
}

// Output:
// Usage: md5_tree DIR [--jobs=N] [--workers=N]
//
// Prints the MD5 sum of each regular file below DIR, in the format of md5sum and
// sorted by name; `md5sum -c` understands it. Symbolic links are not followed.
//
//   --jobs=N     digest N files at a time (1 to 1024; default: two for each worker)
//   --workers=N  run fibers on N threads (1 to 1024; default: one for each processor)
//   --help       print this
//
// Exit status: 0, 1 if anything could not be read, 2 if the arguments make no sense.
