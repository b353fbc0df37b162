#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <list>
#include <mutex>
#include <utility>

#include "kusari/framework/core/collectives.h"
#include "kusari/framework/core/error.h"

// Messages between the processes that an MPI launcher started. MPI moves bytes, and nothing here waits but the start
// and the end: the callers test, and look after ranks that do not answer.
namespace kusari::collectives {
namespace {

// MPI counts in int.
constexpr size_t kPiece = size_t{1} << 29;
constexpr int kNoticeTag = 1;

void check(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw RemoteError(std::string(call) + ": " + std::string(text, static_cast<size_t>(length)));
}

/// What tickets share with the transport, which they may outlive.
struct Calls {
  std::mutex mutex;  // MPI_THREAD_SERIALIZED
  bool is_over = false;
  // Of transfers that were given up: their memory must stay until MPI is done with it.
  std::list<std::pair<std::vector<MPI_Request>, std::shared_ptr<const void>>> given_up;
};

/// What a transfer is about, for messages.
struct Transfer {
  bool is_receipt;
  int rank, other;
  size_t bytes;
};

class MpiTicket final : public Ticket {
 public:
  MpiTicket(std::shared_ptr<Calls> calls, std::vector<MPI_Request> requests, const Transfer& transfer)
      : calls_{std::move(calls)}, requests_{std::move(requests)}, transfer_{transfer} {}
  ~MpiTicket() override {
    const std::scoped_lock lock(calls_->mutex);
    if (is_done_ || calls_->is_over) return;
    calls_->given_up.emplace_back(std::move(requests_), held);
  }
  bool test() override {
    if (is_done_) return true;
    const std::scoped_lock lock(calls_->mutex);
    for (; done_ < requests_.size(); ++done_) {
      int flag = 0;
      MPI_Status status;
      const int result = MPI_Test(&requests_[done_], &flag, &status);
      if (result == MPI_SUCCESS && flag == 0) return false;
      int kind = MPI_SUCCESS;
      MPI_Error_class(result, &kind);
      if (kind == MPI_ERR_TRUNCATE) throw_other_size("more than " + std::to_string(transfer_.bytes));
      check(result, "MPI_Test");
      int received = 0;
      if (transfer_.is_receipt) MPI_Get_count(&status, MPI_BYTE, &received);
      received_ += static_cast<size_t>(received);
    }
    if (transfer_.is_receipt && received_ != transfer_.bytes) throw_other_size(std::to_string(received_));
    return is_done_ = true;
  }
  void list_awaited(std::vector<int>& ranks) const override {
    if (!is_done_) ranks.push_back(transfer_.other);
  }

 private:
  [[noreturn]] void throw_other_size(const std::string& bytes) {
    is_done_ = true;
    throw StateError("Communicator: rank " + std::to_string(transfer_.other) + " sent " + bytes + " bytes where rank " +
                     std::to_string(transfer_.rank) + " expects " + std::to_string(transfer_.bytes) +
                     ": all ranks must call the same operations in the same order (KUSARI_DISTRIBUTED_DEBUG=1 "
                     "compares each)");
  }

  std::shared_ptr<Calls> calls_;
  std::vector<MPI_Request> requests_;
  Transfer transfer_;
  size_t done_ = 0, received_ = 0;
  bool is_done_ = false;
};

class MpiTransport final : public Transport {
 public:
  MpiTransport() {
    check(MPI_Comm_dup(MPI_COMM_WORLD, &messages_), "MPI_Comm_dup");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &notices_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(messages_, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(notices_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(messages_, &rank_);
    MPI_Comm_size(messages_, &size_);
    int* bound = nullptr;
    int found = 0;
    MPI_Comm_get_attr(messages_, MPI_TAG_UB, &bound, &found);
    max_tag_ = found != 0 ? *bound : 32767;
    find_machines();
    char host[MPI_MAX_PROCESSOR_NAME];
    int length = 0;
    MPI_Get_processor_name(host, &length);
    place_ = std::string(host, static_cast<size_t>(length)) + ", process " + std::to_string(getpid());
  }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  std::vector<int> machines() const override { return machines_; }
  std::string place() const override { return place_; }
  int max_tag() const noexcept override { return max_tag_; }

  TicketPtr send(const void* data, size_t bytes, int to, int tag) override {
    return start({false, rank_, to, bytes}, [&](size_t at, int n, MPI_Request* request) {
      check(MPI_Isend(static_cast<const char*>(data) + at, n, MPI_BYTE, to, tag, messages_, request), "MPI_Isend");
    });
  }
  TicketPtr recv(void* data, size_t bytes, int from, int tag) override {
    return start({true, rank_, from, bytes}, [&](size_t at, int n, MPI_Request* request) {
      check(MPI_Irecv(static_cast<char*>(data) + at, n, MPI_BYTE, from, tag, messages_, request), "MPI_Irecv");
    });
  }

  void post(const Notice& notice, int to) override {
    const std::scoped_lock lock(calls_->mutex);
    if (calls_->is_over) return;
    forget_posted();
    auto& [copy, request] = posted_.emplace_back(notice, MPI_REQUEST_NULL);
    check(MPI_Isend(&copy, sizeof(Notice), MPI_BYTE, to, kNoticeTag, notices_, &request), "MPI_Isend");
  }
  std::optional<Notice> poll() override {
    const std::scoped_lock lock(calls_->mutex);
    if (calls_->is_over) return std::nullopt;
    int flag = 0;
    MPI_Status status;
    check(MPI_Iprobe(MPI_ANY_SOURCE, kNoticeTag, notices_, &flag, &status), "MPI_Iprobe");
    if (flag == 0) return std::nullopt;
    Notice notice;
    // It is there: this does not wait.
    check(MPI_Recv(&notice, sizeof(Notice), MPI_BYTE, status.MPI_SOURCE, kNoticeTag, notices_, MPI_STATUS_IGNORE),
          "MPI_Recv");
    return notice;
  }

  void abort() noexcept override { MPI_Abort(MPI_COMM_WORLD, 1); }
  void finish() noexcept override {
    {
      const std::scoped_lock lock(calls_->mutex);
      if (std::exchange(calls_->is_over, true)) return;
      forget_posted();
    }
    int is_over = 0;
    MPI_Finalized(&is_over);
    if (is_over == 0) MPI_Finalize();
  }

 private:
  template <class Start>
  TicketPtr start(const Transfer& transfer, const Start& start_piece) {
    std::vector<MPI_Request> requests;
    const std::scoped_lock lock(calls_->mutex);
    if (calls_->is_over) throw StateError("Communicator: the run is over");
    size_t at = 0;
    do {
      const size_t n = std::min(kPiece, transfer.bytes - at);
      requests.push_back(MPI_REQUEST_NULL);
      start_piece(at, static_cast<int>(n), &requests.back());
      at += n;
    } while (at < transfer.bytes);
    return std::make_unique<MpiTicket>(calls_, std::move(requests), transfer);
  }

  void forget_posted() {
    posted_.remove_if([](auto& each) {
      int flag = 0;
      MPI_Test(&each.second, &flag, MPI_STATUS_IGNORE);
      return flag != 0;
    });
  }

  void find_machines() {
    MPI_Comm machine = MPI_COMM_NULL;
    check(MPI_Comm_split_type(messages_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine), "MPI_Comm_split_type");
    int lowest = rank_;
    check(MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, machine), "MPI_Allreduce");
    machines_.resize(static_cast<size_t>(size_));
    check(MPI_Allgather(&lowest, 1, MPI_INT, machines_.data(), 1, MPI_INT, messages_), "MPI_Allgather");
    MPI_Comm_free(&machine);
  }

  std::shared_ptr<Calls> calls_ = std::make_shared<Calls>();
  MPI_Comm messages_ = MPI_COMM_NULL, notices_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1, max_tag_ = 0;
  std::vector<int> machines_;
  std::string place_;
  std::list<std::pair<Notice, MPI_Request>> posted_;
};

}  // namespace
}  // namespace kusari::collectives

/// Null with a problem where this library and core do not fit together.
extern "C" __attribute__((visibility("default"))) kusari::collectives::Transport* kusari_mpi_transport(
    int interface_version, const char** problem) {
  using namespace kusari;
  if (interface_version != collectives::kTransportInterface) {
    *problem = "it is of another version than libkusari.so";
    return nullptr;
  }
  int is_there = 0;
  MPI_Initialized(&is_there);
  int provided = MPI_THREAD_SERIALIZED;
  if (is_there != 0) {
    MPI_Query_thread(&provided);
  } else {
    // Workers that are forked later never call MPI.
    setenv("OMPI_MCA_mpi_warn_on_fork", "0", 0);
    setenv("IBV_FORK_UNNEEDED", "1", 0);
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    // MPICH reports what fails in MPI_Test, a message that is longer than expected, to these instead of its own.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  }
  if (provided < MPI_THREAD_SERIALIZED) {
    *problem = "this MPI lets one thread alone call it (it must offer MPI_THREAD_SERIALIZED)";
    return nullptr;
  }
  return new collectives::MpiTransport();
}
