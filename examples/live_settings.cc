// Settings that change while a program runs. Who needs them now and then asks for the latest; who
// must act on a change waits for it, beside everything else.
#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include "csp/csp.h"

namespace {

struct Settings {
  std::string greeting;
  int version = 1;
};

// Greets by the settings of the moment, and says when they change.
void Greet(csp::RecvChan<std::string> names, csp::WatchReader<Settings> changes) {
  Settings settings = changes.Get();
  for (bool open = true; open;) {
    csp::PriSelect(  // a change that is there comes before the next name
        changes.OnChange() >>
            [&](std::optional<Settings> latest) {
              if (latest) {
                settings = *std::move(latest);
                std::cout << "now at version " << settings.version << "\n";
              } else {
                changes = {};  // no more changes: what is closed is always ready, what is nil never
              }
            },
        names.OnRecv() >>
            [&](std::optional<std::string> name) {
              if (name) std::cout << settings.greeting << ", " << *name << "\n";
              open = name.has_value();
            });
  }
}

}  // namespace

// On one worker it is known who comes when.
int main() {
  const csp::RunOptions one_worker{.workers = 1};
  return csp::Run(
      [] {
        const auto settings = csp::MakeWatch(Settings{"Hello"});
        const auto names = csp::MakeChan<std::string>();
        csp::Task<void> greeter = csp::Go(Greet, names, settings.Subscribe());

        names.Send("Ann");
        names.Send("Bob");
        settings.Set({"Bonjour", 2});  // waits for nobody, and nobody need have seen it
        settings.Set({"Ciao", 3});
        settings.Close();
        names.Send("Cy");
        names.Close();
        greeter.Join();
        std::cout << "at the end: version " << settings.Get().version << "\n";
      },
      one_worker);
}

// Output:
// Hello, Ann
// Hello, Bob
// now at version 3
// Ciao, Cy
// at the end: version 3
