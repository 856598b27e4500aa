// Fiber-local values: a request's id reaches every log line of its tasks, without being passed.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "csp/csp.h"

namespace {

struct RequestId {
  int number = 0;
  std::string user = "nobody";
};

// A task sees the value of whoever started it, as it was then.
csp::Local<RequestId> request_id{csp::kInherit};

// Each fiber has its own, made at the first access.
csp::Local<std::vector<std::string>> notes;

auto lines = csp::MakeChan<std::string>(csp::kUnbounded);

void Log(const std::string& text) {
  const RequestId* id = request_id.Peek();  // looks at the shared value; * would make a copy
  const std::string who = id != nullptr ? id->user + "#" + std::to_string(id->number) : "nobody";
  lines.Send(who + ": " + text);
}

void Query(int shard) {
  notes->push_back("shard " + std::to_string(shard));
  Log("asks " + notes->front() + ", notes: " + std::to_string(notes->size()));
}

void Serve(RequestId id) {
  request_id = std::move(id);
  std::vector<csp::Task<void>> queries;
  for (int shard = 1; shard <= 2; ++shard) queries.push_back(csp::Go(Query, shard));
  for (csp::Task<void>& query : queries) query.Join();
  {
    const csp::Local<RequestId>::Bind bind(request_id, RequestId{0, "audit"});
    csp::Go(Log, "until the end of the block").Join();
  }
  Log("done, notes: " + std::to_string(notes->size()));
}

}  // namespace

int main() {
  return csp::Run([] {
    csp::Task<void> ann = csp::Go(Serve, RequestId{7, "ann"});
    csp::Task<void> bob = csp::Go(Serve, RequestId{8, "bob"});
    ann.Join();
    bob.Join();
    Log("all served");
    lines.Close();

    std::vector<std::string> all;
    for (std::string& line : lines) all.push_back(std::move(line));
    std::sort(all.begin(), all.end());
    for (const std::string& line : all) std::cout << line << "\n";
  });
}

// Output:
// ann#7: asks shard 1, notes: 1
// ann#7: asks shard 2, notes: 1
// ann#7: done, notes: 0
// audit#0: until the end of the block
// audit#0: until the end of the block
// bob#8: asks shard 1, notes: 1
// bob#8: asks shard 2, notes: 1
// bob#8: done, notes: 0
// nobody: all served
