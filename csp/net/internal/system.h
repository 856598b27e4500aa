// The system calls that csp/net and csp/os make, behind one door, so that a test can stand in it and return
// EINTR, EAGAIN or a short count at any call.
//
// Each call returns what the system returned, or the error's number negated: errno is a
// thread-local, and is read in the function that made the call, which never suspends.
//
// Lifetime: a replacement is installed before what it is to see begins, and outlives it (also a
// lookup that nobody waits for any more).
#ifndef CSP_NET_INTERNAL_SYSTEM_H_
#define CSP_NET_INTERNAL_SYSTEM_H_

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

namespace csp::internal {

class System {
 public:
  virtual ~System() = default;

  virtual ssize_t Read(int fd, void* data, std::size_t size);
  virtual ssize_t Readv(int fd, const iovec* parts, int count);
  // These two never raise SIGPIPE: a pipe without readers is EPIPE and nothing else.
  virtual ssize_t Write(int fd, const void* data, std::size_t size);
  virtual ssize_t Writev(int fd, const iovec* parts, int count);
  virtual ssize_t Recv(int fd, void* data, std::size_t size, int flags);
  virtual ssize_t RecvMsg(int fd, msghdr* message, int flags);
  virtual ssize_t Send(int fd, const void* data, std::size_t size, int flags);
  virtual ssize_t SendMsg(int fd, const msghdr* message, int flags);

  // Non-blocking and closed on exec.
  virtual int Socket(int domain, int type, int protocol);
  virtual int SocketPair(int domain, int type, int protocol, int (&fds)[2]);
  virtual int Accept(int fd, sockaddr* address, socklen_t* size);
  virtual int Connect(int fd, const sockaddr* address, socklen_t size);
  virtual int Bind(int fd, const sockaddr* address, socklen_t size);
  virtual int Listen(int fd, int backlog);
  virtual int Shutdown(int fd, int how);
  virtual int SetOption(int fd, int level, int name, const void* value, socklen_t size);
  virtual int GetOption(int fd, int level, int name, void* value, socklen_t* size);
  virtual int LocalName(int fd, sockaddr* address, socklen_t* size);
  virtual int PeerName(int fd, sockaddr* address, socklen_t* size);

  // getaddrinfo: blocks the thread. 0, or its error (EAI_NONAME …); with EAI_SYSTEM `error` is errno.
  virtual int Resolve(const char* host, const addrinfo& hints, addrinfo** found, int& error);
  virtual void FreeResolved(addrinfo* found);

  // Closed on exec; an eventfd does not block, the ends of a pipe do.
  virtual int EventFd();
  virtual int Pipe(int (&fds)[2]);
  // The same under a number that is at least `lowest`, closed on exec.
  virtual int Duplicate(int fd, int lowest);

  virtual int PidfdOpen(pid_t pid);
  virtual int PidfdSignal(int pidfd, int signal);
  // waitid: the child's end, which WNOHANG does not wait for.
  virtual int WaitForExit(int pidfd, siginfo_t* info, int flags);

  // The descriptor is gone, whatever it returns.
  virtual int Close(int fd);
  // F_GETFL, F_SETFL.
  virtual int Flags(int fd);
  virtual int SetFlags(int fd, int flags);
  // Which of `events` are there now.
  virtual int Poll(int fd, std::int16_t events);
};

// The system in use: the machine's, unless a ScopedSystem lives.
System& TheSystem();

// Puts `system` in place of the machine's for as long as this object lives. For tests.
class ScopedSystem {
 public:
  explicit ScopedSystem(System* system);
  ~ScopedSystem();
  ScopedSystem(const ScopedSystem&) = delete;
  ScopedSystem& operator=(const ScopedSystem&) = delete;
};

// Calls again for as long as a signal has interrupted it.
template <class Call>
auto Uninterrupted(Call call) {
  for (;;) {
    const auto result = call();
    if (result != -EINTR) return result;
  }
}

}  // namespace csp::internal

#endif  // CSP_NET_INTERNAL_SYSTEM_H_
