#include "csp/os/signals.h"

#include <signal.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "csp/net/internal/io_error.h"
#include "csp/net/internal/system.h"
#include "csp/os/internal/signal_table.h"

namespace csp::os {
namespace {

using internal::Direction;
using internal::IoError;
using internal::OpenFile;
using internal::SignalMailbox;
using internal::SignalSet;

constexpr char kType[] = "Signals";
constexpr ParkReason kWait{"Wait", "os"};

absl::Status Refuse(int number) {
  return absl::InvalidArgumentError(
      absl::StrCat("Signals::Subscribe: ", number, " is no signal that could be waited for"));
}

bool IsFault(int number) {
  return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL;
}

absl::StatusOr<int> NumberOrError(const char* verb, ssize_t result) {
  if (result < 0) return IoError(kType, verb, result);
  return static_cast<int>(result);
}

}  // namespace

Signals::Signals(std::unique_ptr<SignalMailbox> mailbox, internal::Ref<OpenFile> event_file)
    : mailbox_(std::move(mailbox)), file_(std::move(event_file)) {}

Signals::Signals() = default;
Signals::Signals(Signals&&) noexcept = default;

Signals& Signals::operator=(Signals&& other) noexcept {
  if (this != &other) {
    Close();
    mailbox_ = std::move(other.mailbox_);
    file_ = std::move(other.file_);
  }
  return *this;
}

Signals::~Signals() { Close(); }

absl::StatusOr<Signals> Signals::Subscribe(const std::vector<int>& numbers) {
  SignalSet wanted = 0;
  for (const int number : numbers) {
    if (number < 1 || number > internal::kSignals || IsFault(number)) return Refuse(number);
    wanted |= SignalSet{1} << (number - 1);
  }
  const int fd = internal::TheSystem().EventFd();
  if (fd < 0) return IoError(kType, "Subscribe", fd);
  internal::Ref<OpenFile> file(new OpenFile(fd, OpenFile::Kind::kFile, kType));
  auto mailbox = std::make_unique<SignalMailbox>(fd, wanted);
  int failed = 0;
  const int result = internal::Subscribe(*mailbox, failed);
  if (result == 0) return Signals(std::move(mailbox), std::move(file));
  file->Close();
  return Refuse(failed);
}

void Signals::Close() {
  if (!file_) return;
  internal::Unsubscribe(*mailbox_);  // the handler writes to what is closed now
  file_->Close();
}

absl::StatusOr<int> Signals::Wait() {
  return NumberOrError("Wait", internal::Perform(file("Wait"), Direction::kRead, kWait,
                                                 [&](int) { return mailbox_->Take(); }));
}

SignalEvent Signals::OnSignal() { return SignalEvent(file("OnSignal"), *mailbox_); }

OpenFile& Signals::file(const char* verb) const {
  if (!file_) internal::ThrowEmpty(kType, verb);
  return *file_;
}

SignalEvent::SignalEvent(OpenFile& file, SignalMailbox& mailbox)
    : IoCase(file, Direction::kRead, kWait, /*hopeless_first=*/false), mailbox_(mailbox) {}

ssize_t SignalEvent::Try(int) { return mailbox_.Take(); }

SignalEvent::Result SignalEvent::Take() { return NumberOrError("OnSignal", result()); }

}  // namespace csp::os
