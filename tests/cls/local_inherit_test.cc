// What a task sees of its parent's values.
#include <array>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "csp/chan/chan.h"
#include "csp/cls/local.h"
#include "csp/task/go.h"
#include "csp/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/fixture.h"

namespace csp {
namespace {

using LocalInheritTest = RuntimeTest;
CSP_INSTANTIATE(LocalInheritTest);

// Neither trivially copyable nor a string: nobody can tell whether it has changed.
struct RequestId {
  int number = 0;
  std::string user = "nobody";
};

constinit Local<RequestId> request_id{kInherit};
constinit Local<int> depth{kInherit, [] { return 10; }};
constinit Local<std::string> text{kInherit};
constinit Local<int> own;

TEST_P(LocalInheritTest, NothingToInherit) {
  Here([] {
    Go([] {
      EXPECT_FALSE(request_id.has_value());
      EXPECT_EQ(request_id->user, "nobody");
      EXPECT_EQ(*depth, 10);
    }).Join();
    EXPECT_FALSE(request_id.has_value());
  });
}

TEST_P(LocalInheritTest, ChildrenAndGrandchildren) {
  Here([] {
    request_id = RequestId{1, "ann"};
    *depth = 0;
    *own = 5;
    Go([] {
      EXPECT_EQ(request_id.Peek()->user, "ann");
      EXPECT_EQ(request_id->number, 1);
      EXPECT_FALSE(own.has_value());
      ++*depth;
      Go([] {
        EXPECT_EQ(request_id->user, "ann");
        EXPECT_EQ(*depth, 1);
        Go([] { EXPECT_EQ(request_id.Peek()->number, 1); }).Join();
      }).Join();
    }).Join();
    EXPECT_EQ(*depth, 0);
  });
}

TEST_P(LocalInheritTest, AsAtTheTimeOfGo) {
  Here([] {
    Chan<Unit> start = MakeChan<Unit>(100);
    std::vector<Task<void>> tasks;
    RequestId& id = *request_id;  // kept over every Go
    int& number = *depth;
    for (int i = 0; i < 50; ++i) {
      id.number = i;
      number = i;
      text = std::to_string(i);
      tasks.push_back(Go([i, start] {
        start.Recv();
        EXPECT_EQ(request_id->number, i);
        EXPECT_EQ(*depth, i);
        EXPECT_EQ(*text.Peek(), std::to_string(i));
      }));
    }
    id.number = number = -1;
    text = "other";
    start.Close();
    for (Task<void>& task : tasks) task.Join();
  });
}

TEST_P(LocalInheritTest, NeitherSeesWhatTheOtherChanges) {
  Here([] {
    request_id = RequestId{1, "ann"};
    text = "parent";
    Chan<Unit> changed = MakeChan<Unit>();
    Chan<Unit> seen = MakeChan<Unit>();
    Task<void> task = Go([&] {
      const RequestId* shared = request_id.Peek();
      EXPECT_EQ(shared->number, 1);
      request_id->number = 2;
      EXPECT_NE(&*request_id, shared);
      text = "child";
      changed.Send(Unit{});
      seen.Recv();
      EXPECT_EQ(request_id->number, 2);
      EXPECT_EQ(*text, "child");
    });
    changed.Recv();
    EXPECT_EQ(request_id->number, 1);
    EXPECT_EQ(*text.Peek(), "parent");
    request_id->number = 3;
    text = "parent again";
    seen.Send(Unit{});
    task.Join();
    EXPECT_EQ(request_id->number, 3);
    EXPECT_EQ(*text, "parent again");
  });
}

TEST_P(LocalInheritTest, PeekSharesAndGetCopies) {
  Here([] {
    text = "shared by all";
    const void* parents = text.Peek();
    Go([parents] {
      EXPECT_EQ(text.Peek(), parents);
      Go([parents] { EXPECT_EQ(text.Peek(), parents); }).Join();
      EXPECT_NE(&*text, parents);
      EXPECT_EQ(*text, "shared by all");
      const void* mine = text.Peek();
      EXPECT_EQ(mine, &*text);
      Go([=] { EXPECT_NE(text.Peek(), mine); }).Join();  // it may still be changed here
    }).Join();
  });
}

TEST_P(LocalInheritTest, BoundValuesAreInherited) {
  Here([] {
    text = "outside";
    const auto seen = [] { return Go([] { return text.has_value() ? *text : "none"; }).Join(); };
    {
      const Local<std::string>::Bind bind(text, "inside");
      EXPECT_EQ(seen(), "inside");
      *text += "!";
      EXPECT_EQ(seen(), "inside!");
      Go([seen] {
        const Local<std::string>::Bind bind_here(text, "child");
        EXPECT_EQ(seen(), "child");
      }).Join();
      EXPECT_EQ(seen(), "inside!");
    }
    EXPECT_EQ(seen(), "outside");
    Go([seen] {
      { const Local<std::string>::Bind bind(text, "grandchild"); }
      EXPECT_EQ(*text.Peek(), "outside");
      EXPECT_EQ(seen(), "outside");
    }).Join();
  });
}

TEST_P(LocalInheritTest, AfterTheParentHasEnded) {
  Here([] {
    Chan<Unit> go_on = MakeChan<Unit>();
    Chan<std::string> result = MakeChan<std::string>();
    Go([=] {
      text = "from a parent that is gone";
      Go([=] {
        go_on.Recv();
        result.Send(*text);
      });
    }).Join();
    go_on.Send(Unit{});
    EXPECT_EQ(result.Recv(), "from a parent that is gone");
  });
}

TEST_P(LocalInheritTest, ManyChildrenShareWithoutRaces) {
  Here([] {
    static std::array<Local<std::string>, 10> locals{
        Local<std::string>{kInherit}, Local<std::string>{kInherit}, Local<std::string>{kInherit},
        Local<std::string>{kInherit}, Local<std::string>{kInherit}, Local<std::string>{kInherit},
        Local<std::string>{kInherit}, Local<std::string>{kInherit}, Local<std::string>{kInherit},
        Local<std::string>{kInherit}};
    for (std::size_t i = 0; i < 10; ++i) locals[i] = "value " + std::to_string(i);
    std::vector<Task<void>> tasks;
    for (int n = 0; n < 500; ++n) {
      if (n % 50 == 0) locals[0] = "set " + std::to_string(n);
      tasks.push_back(Go([n] {
        EXPECT_EQ(*locals[0].Peek(), "set " + std::to_string(n / 50 * 50));
        Yield();
        for (std::size_t i = 1; i < 10; ++i) {
          EXPECT_EQ(*locals[i].Peek(), "value " + std::to_string(i));
          if (n % 2 == 0) *locals[i] += "!";
        }
        Go([n] { EXPECT_EQ(*locals[9].Peek(), n % 2 == 0 ? "value 9!" : "value 9"); }).Join();
      }));
    }
    for (Task<void>& task : tasks) task.Join();
  });
}

struct Fickle {
  Fickle() = default;
  // NOLINTNEXTLINE(modernize-use-equals-default): it throws
  Fickle(const Fickle& other) : fails(other.fails) {
    if (fails) throw std::runtime_error("no copy");
  }
  Fickle& operator=(const Fickle&) = default;
  bool fails = false;
};

TEST_P(LocalInheritTest, CopyThatThrowsInTheChild) {
  static Local<Fickle> fickle{kInherit};
  Here([] {
    // Given to the child uncopied: it has only been Set.
    Fickle value;
    fickle.Set(value);
    const_cast<Fickle*>(fickle.Peek())->fails = true;
    Go([] {
      EXPECT_THROW(fickle.Get(), std::runtime_error);
      ASSERT_TRUE(fickle.has_value());
      EXPECT_TRUE(fickle.Peek()->fails);
      fickle.Set(Fickle());
      EXPECT_FALSE(fickle->fails);
    }).Join();
    const_cast<Fickle*>(fickle.Peek())->fails = false;
  });
}

TEST_P(LocalInheritTest, CopyThatThrowsInGo) {
  static Local<Fickle> fickle{kInherit};
  Here([] {
    fickle->fails = true;
    EXPECT_THROW(Go([] {}), std::runtime_error);
    EXPECT_TRUE(fickle->fails);
    fickle->fails = false;
    Go([] { EXPECT_FALSE(fickle->fails); }).Join();
  });
}

// Each copy would be one more whose destructor starts a task.
struct Starter {
  Starter() = default;
  Starter(const Starter&) { ++copies; }
  Starter& operator=(const Starter&) = default;
  ~Starter() {
    Go([] {}).Join();
  }
  static inline std::atomic<int> copies{0};
};

TEST_P(LocalInheritTest, ADestructorThatCallsGoComesToAnEnd) {
  static Local<Starter> starter{kInherit};
  Starter::copies = 0;
  Here([] {
    Go([] {
      starter.Get();
      Go([] {}).Join();
    }).Join();
  });
  EXPECT_EQ(Starter::copies, 1);
}

TEST_P(LocalInheritTest, WhatADestructorStartsInheritsWhatWasSet) {
  static Local<int> number{kInherit};
  static std::atomic<int> seen{0};
  struct Reader {
    ~Reader() {
      Go([] { seen = number.has_value() ? *number.Peek() : -1; }).Join();
    }
  };
  static Local<Reader> reader;
  Here([] {
    Go([] {
      number.Set(7);
      reader.Get();
    }).Join();
  });
  EXPECT_EQ(seen, 7);
}

}  // namespace
}  // namespace csp
