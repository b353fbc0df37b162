#pragma once

#include <string>

#include "kusari/iterators/message_channel.h"
#include "kusari/iterators/shared_memory.h"
#include "kusari/iterators/work_board.h"
#include "kusari/iterators/worker_process.h"

namespace kusari::iterators {

/// "was killed by signal 9 (Killed)" and the like; `status` as waitpid gives it.
std::string describe_end(int status);

/// The processes that load examples for this one: a mother and her workers. They end with this object, and with this
/// process, however that ends.
class WorkerCrew {
 public:
  /// Forks the mother from the calling thread. Throws WorkerError when the system refuses.
  WorkerCrew(const WorkBoard::Size& size, const WorkerSetting& setting);
  WorkerCrew(const WorkerCrew&) = delete;
  WorkerCrew& operator=(const WorkerCrew&) = delete;
  /// Takes less than two seconds, whatever state the processes are in; milliseconds as a rule.
  ~WorkerCrew();

  WorkBoard& board() noexcept { return board_; }
  /// The file of the blocks into which the workers write.
  const FileDescriptor& blocks() const noexcept { return blocks_; }
  /// Whether this process made the crew: one that was forked from it has a copy that is of no use.
  bool is_ours() const noexcept;
  /// "the process that starts the workers (process 4711)".
  std::string mother_name() const;
  /// Looks whether the mother is still there; text that says how she ended if not, else empty.
  std::string end_of_mother();

  Received receive(Report& report) { return receive_report(channel_.consumer, report); }
  bool send(const Command& command) noexcept { return send_command(channel_.consumer, command); }

 private:
  bool has_mother_ended(double seconds) noexcept;
  void await_workers(double seconds) noexcept;

  WorkBoard board_;
  FileDescriptor blocks_;
  Channel channel_;
  int consumer_;
  int mother_;
  bool is_reaped_ = false;
  int status_ = 0;  // once reaped
};

}  // namespace kusari::iterators
