#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

#include "kusari/framework/core/collectives.h"
#include "kusari/framework/core/error.h"

// Ranks that are threads of one process. Large messages wait for their receiver, as those of MPI do, so that programs
// which depend on buffers are found out.
namespace kusari::collectives {
namespace {

constexpr size_t kEager = 4096;

struct Message {
  int from, tag;
  size_t bytes;
  std::string copy;                            // of a short one
  const void* data;                            // of a long one: the sender's memory
  std::shared_ptr<std::atomic<bool>> is_done;  // of a long one
};

struct Mailbox {
  std::deque<Message> messages;
  std::deque<Notice> notices;
};

struct Hub {
  Hub(int size, int of_machine) : boxes(static_cast<size_t>(size)), intra_size{of_machine} {}
  std::mutex mutex;
  std::vector<Mailbox> boxes;  // of each rank
  int intra_size;
};

class Sending final : public Ticket {
 public:
  Sending(std::shared_ptr<Hub> hub, int to, std::shared_ptr<std::atomic<bool>> is_done)
      : hub_{std::move(hub)}, to_{to}, is_done_{std::move(is_done)} {}
  ~Sending() override {
    if (test()) return;
    const std::scoped_lock lock(hub_->mutex);
    std::erase_if(hub_->boxes[static_cast<size_t>(to_)].messages,
                  [&](const Message& message) { return message.is_done == is_done_; });
  }
  bool test() override { return is_done_ == nullptr || is_done_->load(std::memory_order_acquire); }
  void list_awaited(std::vector<int>& ranks) const override { ranks.push_back(to_); }

 private:
  std::shared_ptr<Hub> hub_;
  int to_;
  std::shared_ptr<std::atomic<bool>> is_done_;
};

class Receiving final : public Ticket {
 public:
  Receiving(std::shared_ptr<Hub> hub, int rank, int from, int tag, void* data, size_t bytes)
      : hub_{std::move(hub)}, rank_{rank}, from_{from}, tag_{tag}, data_{data}, bytes_{bytes} {}
  bool test() override {
    if (is_done_) return true;
    const std::scoped_lock lock(hub_->mutex);
    std::deque<Message>& messages = hub_->boxes[static_cast<size_t>(rank_)].messages;
    const auto found = std::find_if(messages.begin(), messages.end(), [&](const Message& message) {
      return message.from == from_ && message.tag == tag_;
    });
    if (found == messages.end()) return false;
    if (found->bytes != bytes_) {
      throw StateError("Communicator: rank " + std::to_string(from_) + " sent " + std::to_string(found->bytes) +
                       " bytes where rank " + std::to_string(rank_) + " expects " + std::to_string(bytes_) +
                       ": all ranks must call the same operations in the same order (KUSARI_DISTRIBUTED_DEBUG=1 "
                       "compares each)");
    }
    if (bytes_ != 0) std::memcpy(data_, found->is_done ? found->data : found->copy.data(), bytes_);
    if (found->is_done) found->is_done->store(true, std::memory_order_release);
    messages.erase(found);
    return is_done_ = true;
  }
  void list_awaited(std::vector<int>& ranks) const override {
    if (!is_done_) ranks.push_back(from_);
  }

 private:
  std::shared_ptr<Hub> hub_;
  int rank_, from_, tag_;
  void* data_;
  size_t bytes_;
  bool is_done_ = false;
};

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(std::shared_ptr<Hub> hub, int rank) : hub_{std::move(hub)}, rank_{rank} {}

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return static_cast<int>(hub_->boxes.size()); }
  std::vector<int> machines() const override {
    std::vector<int> machines;
    for (int rank = 0; rank < size(); ++rank) machines.push_back(rank / hub_->intra_size * hub_->intra_size);
    return machines;
  }
  std::string place() const override { return "thread " + std::to_string(rank_); }
  int max_tag() const noexcept override { return 0x7fffffff; }

  TicketPtr send(const void* data, size_t bytes, int to, int tag) override {
    Message message{rank_, tag, bytes, {}, nullptr, nullptr};
    if (bytes <= kEager) {
      if (bytes != 0) message.copy.assign(static_cast<const char*>(data), bytes);
    } else {
      message.data = data;
      message.is_done = std::make_shared<std::atomic<bool>>(false);
    }
    auto ticket = std::make_unique<Sending>(hub_, to, message.is_done);
    const std::scoped_lock lock(hub_->mutex);
    hub_->boxes[static_cast<size_t>(to)].messages.push_back(std::move(message));
    return ticket;
  }
  TicketPtr recv(void* data, size_t bytes, int from, int tag) override {
    return std::make_unique<Receiving>(hub_, rank_, from, tag, data, bytes);
  }
  void post(const Notice& notice, int to) override {
    const std::scoped_lock lock(hub_->mutex);
    hub_->boxes[static_cast<size_t>(to)].notices.push_back(notice);
  }
  std::optional<Notice> poll() override {
    const std::scoped_lock lock(hub_->mutex);
    std::deque<Notice>& notices = hub_->boxes[static_cast<size_t>(rank_)].notices;
    if (notices.empty()) return std::nullopt;
    const Notice notice = notices.front();
    notices.pop_front();
    return notice;
  }
  void abort() noexcept override {}
  void finish() noexcept override {}

 private:
  std::shared_ptr<Hub> hub_;
  int rank_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> thread_transports(int n, int intra_size) {
  const auto hub = std::make_shared<Hub>(n, intra_size > 0 ? intra_size : n);
  std::vector<std::unique_ptr<Transport>> transports;
  for (int rank = 0; rank < n; ++rank) transports.push_back(std::make_unique<ThreadTransport>(hub, rank));
  return transports;
}

}  // namespace kusari::collectives
