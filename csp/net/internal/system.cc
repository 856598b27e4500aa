#include "csp/net/internal/system.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "csp/base/atomic.h"

namespace csp::internal {
namespace {

// Right behind the call. Not inlined: into a function that suspends, the address of errno would go
// along, which is another thread's afterwards.
template <class T>
[[gnu::noinline]] T Result(T result) {
  return result < 0 ? static_cast<T>(-errno) : result;
}

// write(2) on a pipe has no MSG_NOSIGNAL. The signal, which is for the thread that writes, is held
// back during the call and then taken away, unless it was there before.
template <class Call>
ssize_t WithoutSigpipe(Call call) {
  sigset_t pipe;
  sigset_t pending;
  sigset_t before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const ssize_t result = Result(call());
  if (result == -EPIPE && sigismember(&pending, SIGPIPE) == 0) {
    const timespec at_once{};
    while (sigtimedwait(&pipe, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return result;
}

System& Machine() {
  static System* machine = new System;
  return *machine;
}

constinit Atomic<System*> in_use{nullptr};

}  // namespace

ssize_t System::Read(int fd, void* data, std::size_t size) {
  return Result(::read(fd, data, size));
}

ssize_t System::Readv(int fd, const iovec* parts, int count) {
  return Result(::readv(fd, parts, count));
}

ssize_t System::Write(int fd, const void* data, std::size_t size) {
  return WithoutSigpipe([&] { return ::write(fd, data, size); });
}

ssize_t System::Writev(int fd, const iovec* parts, int count) {
  return WithoutSigpipe([&] { return ::writev(fd, parts, count); });
}

ssize_t System::Recv(int fd, void* data, std::size_t size, int flags) {
  return Result(::recv(fd, data, size, flags));
}

ssize_t System::RecvMsg(int fd, msghdr* message, int flags) {
  return Result(::recvmsg(fd, message, flags | MSG_CMSG_CLOEXEC));
}

ssize_t System::Send(int fd, const void* data, std::size_t size, int flags) {
  return Result(::send(fd, data, size, flags | MSG_NOSIGNAL));
}

ssize_t System::SendMsg(int fd, const msghdr* message, int flags) {
  return Result(::sendmsg(fd, message, flags | MSG_NOSIGNAL));
}

int System::Socket(int domain, int type, int protocol) {
  return Result(::socket(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol));
}

int System::SocketPair(int domain, int type, int protocol, int (&fds)[2]) {
  return Result(::socketpair(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol, fds));
}

int System::Accept(int fd, sockaddr* address, socklen_t* size) {
  return Result(::accept4(fd, address, size, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

int System::Connect(int fd, const sockaddr* address, socklen_t size) {
  return Result(::connect(fd, address, size));
}

int System::Bind(int fd, const sockaddr* address, socklen_t size) {
  return Result(::bind(fd, address, size));
}

int System::Listen(int fd, int backlog) { return Result(::listen(fd, backlog)); }

int System::Shutdown(int fd, int how) { return Result(::shutdown(fd, how)); }

int System::SetOption(int fd, int level, int name, const void* value, socklen_t size) {
  return Result(::setsockopt(fd, level, name, value, size));
}

int System::GetOption(int fd, int level, int name, void* value, socklen_t* size) {
  return Result(::getsockopt(fd, level, name, value, size));
}

int System::LocalName(int fd, sockaddr* address, socklen_t* size) {
  return Result(::getsockname(fd, address, size));
}

int System::PeerName(int fd, sockaddr* address, socklen_t* size) {
  return Result(::getpeername(fd, address, size));
}

int System::Resolve(const char* host, const addrinfo& hints, addrinfo** found, int& error) {
  const int result = ::getaddrinfo(host, nullptr, &hints, found);
  error = errno;
  return result;
}

void System::FreeResolved(addrinfo* found) { ::freeaddrinfo(found); }

int System::EventFd() { return Result(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)); }

int System::Pipe(int (&fds)[2]) { return Result(::pipe2(fds, O_CLOEXEC)); }

int System::Duplicate(int fd, int lowest) { return Result(::fcntl(fd, F_DUPFD_CLOEXEC, lowest)); }

int System::PidfdOpen(pid_t pid) {
  return static_cast<int>(Result(::syscall(SYS_pidfd_open, pid, 0)));
}

int System::PidfdSignal(int pidfd, int signal) {
  return static_cast<int>(Result(::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0)));
}

int System::WaitForExit(int pidfd, siginfo_t* info, int flags) {
  return Result(::waitid(P_PIDFD, static_cast<id_t>(pidfd), info, WEXITED | flags));
}

int System::Close(int fd) { return Result(::close(fd)); }

int System::Flags(int fd) { return Result(::fcntl(fd, F_GETFL)); }

int System::SetFlags(int fd, int flags) { return Result(::fcntl(fd, F_SETFL, flags)); }

int System::Poll(int fd, std::int16_t events) {
  pollfd poll{fd, events, 0};
  const int result = Result(::poll(&poll, 1, 0));
  return result > 0 ? poll.revents : result;
}

System& TheSystem() {
  System* system = in_use.load(std::memory_order_acquire);
  return system != nullptr ? *system : Machine();
}

ScopedSystem::ScopedSystem(System* system) { in_use.store(system, std::memory_order_release); }

ScopedSystem::~ScopedSystem() { in_use.store(nullptr, std::memory_order_release); }

}  // namespace csp::internal
