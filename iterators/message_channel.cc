#include "kusari/iterators/message_channel.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "kusari/framework/core/error.h"

namespace kusari::iterators {
namespace {

constexpr size_t kMaxText = 8192;

// A report as it travels; only the used part of the text does.
struct Packet {
  Report::Kind kind;
  FailureKind failure;
  int32_t worker, process, status, place;
  int64_t row, bytes;
  char text[kMaxText];
};
constexpr size_t kHeadBytes = offsetof(Packet, text);

union Control {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

}  // namespace

Channel::Channel() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw IoError(std::string("MultiprocessIterator: cannot create a socket: ") + std::strerror(errno));
  }
  consumer = FileDescriptor(ends[0]);
  workers = FileDescriptor(ends[1]);
  const timeval look{0, 100'000};  // for the parent, while there is no room
  setsockopt(workers.get(), SOL_SOCKET, SO_SNDTIMEO, &look, sizeof look);
}

bool send_report(const FileDescriptor& end, const Report& report, int parent) noexcept {
  Packet packet{report.kind,    report.failure.kind, report.worker,
                report.process, report.status,       report.place,
                report.row,     report.bytes,        {}};
  const size_t text = std::min(report.failure.text.size(), kMaxText);
  std::memcpy(packet.text, report.failure.text.data(), text);
  iovec part{&packet, kHeadBytes + text};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  Control control{};
  if (report.memory) {
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int raw = report.memory.get();
    std::memcpy(CMSG_DATA(header), &raw, sizeof raw);
  }
  while (sendmsg(end.get(), &message, MSG_NOSIGNAL) < 0) {
    const bool is_full = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    // Descriptors under way count like open ones; the consumer takes them out.
    const bool is_short = errno == ETOOMANYREFS || errno == ENOBUFS || errno == ENOMEM;
    if (!(is_full || is_short) || getppid() != parent) return false;
    const timespec millisecond{0, 1'000'000};
    if (is_short) nanosleep(&millisecond, nullptr);
  }
  return true;
}

Received receive_report(const FileDescriptor& end, Report& report) {
  Packet packet;
  iovec part{&packet, sizeof packet};
  Control control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof control;
  ssize_t bytes;
  do {
    bytes = recvmsg(end.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (bytes < 0 && errno == EINTR);
  if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Received::nothing;
  if (bytes < static_cast<ssize_t>(kHeadBytes)) return Received::end;
  report = {packet.kind,    packet.worker,
            packet.process, packet.status,
            packet.place,   packet.row,
            packet.bytes,   {packet.failure, std::string(packet.text, static_cast<size_t>(bytes) - kHeadBytes)}};
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    int raw;
    std::memcpy(&raw, CMSG_DATA(header), sizeof raw);
    report.memory = FileDescriptor(raw);
  }
  return Received::message;
}

bool send_command(const FileDescriptor& end, const Command& command) noexcept {
  ssize_t bytes;
  do {
    bytes = send(end.get(), &command, sizeof command, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (bytes < 0 && errno == EINTR);
  return bytes == sizeof command;
}

Received receive_command(const FileDescriptor& end, Command& command) noexcept {
  ssize_t bytes;
  do {
    bytes = recv(end.get(), &command, sizeof command, MSG_DONTWAIT);
  } while (bytes < 0 && errno == EINTR);
  if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Received::nothing;
  return bytes == sizeof command ? Received::message : Received::end;
}

}  // namespace kusari::iterators
