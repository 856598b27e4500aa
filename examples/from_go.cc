// Go's idioms, in csp. docs/from-go.md quotes it.
#include <cstddef>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "csp/csp.h"

namespace {

// defer close(ch), also if the task throws.
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

// A stage that ends when `done` is set: Go's `case <-done: return`.
void Count(csp::SendChan<int> out, csp::Event& done) {
  for (int n = 1;; ++n) {
    const bool go_on = csp::Select(
        out.OnSend(n) >> [] { return true; },    // go on
        done.OnWait() >> [] { return false; });  // leave
    if (!go_on) return;
  }
}

// The first value of two channels: Go's `case v := <-a: return v`.
int First(csp::RecvChan<int> a, csp::RecvChan<int> b) {
  return csp::Select(
      a.OnRecv() >> [](std::optional<int> v) { return v.value_or(0); },
      b.OnRecv() >> [](std::optional<int> v) { return v.value_or(0); });
}

// Two channels until both are closed: a nil channel takes no part.
int Sum(csp::RecvChan<int> a, csp::RecvChan<int> b) {
  int sum = 0;
  const auto add = [&sum](csp::RecvChan<int>& from, std::optional<int> v) {
    if (v) sum += *v;
    if (!v) from = {};  // closed and drained
  };
  while (!a.is_nil() || !b.is_nil()) {
    csp::Select(
        a.OnRecv() >> [&](std::optional<int> v) { add(a, v); },
        b.OnRecv() >> [&](std::optional<int> v) { add(b, v); });
  }
  return sum;
}

// A source of numbers that closes its channel.
csp::RecvChan<int> Numbers(int from, int to) {
  auto out = csp::MakeChan<int>();
  csp::Go([=] {
    const Closing<int> closing(out);
    for (int n = from; n <= to; ++n) out.Send(n);
  });
  return out;
}

// Waits for all; the first failure cancels the others and is thrown: Go's errgroup.
std::vector<std::string> FetchAll(const std::vector<std::string>& names) {
  std::vector<std::string> pages(names.size());
  csp::WithScope([&](csp::Scope& s) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      s.Go([&, i] { pages[i] = "<" + names[i] + ">"; });
    }
  });
  return pages;
}

}  // namespace

int main() {
  return csp::Run([] {
    csp::Event done;  // done := make(chan struct{})
    auto counted = csp::MakeChan<int>();
    csp::Task<void> count = csp::Go([counted, &done] { Count(counted, done); });
    std::cout << *counted.Recv() << " " << *counted.Recv() << "\n";
    done.Set();  // close(done)
    count.Join();

    std::cout << First(Numbers(7, 7), csp::MakeChan<int>()) << "\n";
    std::cout << Sum(Numbers(1, 10), Numbers(11, 20)) << "\n";
    for (const std::string& page : FetchAll({"a", "b"})) std::cout << page << "\n";
  });
}

// Output:
// 1 2
// 7
// 210
// <a>
// <b>
