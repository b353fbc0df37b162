#pragma once

#include <cstdint>
#include <string>

#include "kusari/iterators/on_failure.h"
#include "kusari/iterators/shared_memory.h"

namespace kusari::iterators {

/// What a worker or its mother process tells the consumer beside the board.
struct Report {
  enum class Kind : uint32_t {
    exited,       ///< a worker ended: `status` as waitpid gives it
    not_started,  ///< a worker could not be started: `status` is the error number
    failed,       ///< an example threw `failure`
    alone,        ///< an example that does not fit to its batch: its layout and planes are in `memory`
    empty,        ///< an example without components
  };
  Kind kind = Kind::exited;
  int32_t worker = 0;
  int32_t process = 0;
  int32_t status = 0;
  int32_t place = 0;
  int64_t row = 0;
  int64_t bytes = 0;  // of `memory`
  Failure failure = {};
  FileDescriptor memory = {};
};

/// What the consumer bids the mother process.
struct Command {
  enum class Kind : uint32_t { start, kill } kind = Kind::start;
  int32_t worker = 0;
};

/// The two ends of a connection whose messages arrive whole: the consumer has one, the mother and her workers the
/// other.
struct Channel {
  Channel();
  FileDescriptor consumer, workers;
};

/// Sends a report; long texts are cut. Waits for room, as long as `parent` is the parent of this process. False: nobody
/// will take the report.
bool send_report(const FileDescriptor& end, const Report& report, int parent) noexcept;
enum class Received : uint8_t { message, nothing, end };
/// Does not wait. `end`: the processes at the other end are gone, or will not speak again.
Received receive_report(const FileDescriptor& end, Report& report);

/// Does not wait; false when the mother does not take it.
bool send_command(const FileDescriptor& end, const Command& command) noexcept;
Received receive_command(const FileDescriptor& end, Command& command) noexcept;

}  // namespace kusari::iterators
