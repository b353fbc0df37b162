#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kusari/framework/core/export.h"

namespace kusari::training::tensorboard {

class Message;

struct EventWriterOptions {
  double flush_seconds = 5;  ///< what was added is in the file after so many seconds, when more comes; 0: at once
  /// The run goes on here: TensorBoard forgets what files written before have from this step on.
  std::optional<int64_t> first_step = std::nullopt;
};

/// Writes numbers, histograms and texts to an event file that TensorBoard reads,
/// "<directory>/events.out.tfevents.<time>.<host>.<process>.<number>". Every writer begins a file of its own, and its
/// directory if need be; TensorBoard shows all files of a directory as one run. Throws IoError where a file cannot be
/// made or written.
class KUSARI_API EventWriter {
 public:
  explicit EventWriter(const std::string& directory, EventWriterOptions options = {});
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;
  /// Flushes; a failure is a warning.
  ~EventWriter();

  /// Kept as float32, as TensorBoard's scalars are.
  void add_scalar(std::string_view tag, double value, int64_t step);
  /// How many of the finite values lie in each of TensorFlow's buckets, whose limits grow by a tenth; nothing is
  /// written when there are none.
  void add_histogram(std::string_view tag, std::span<const double> values, int64_t step);
  /// A picture that is a PNG file's content, with its size.
  void add_image(std::string_view tag, std::string_view png, int64_t height, int64_t width, int64_t step);
  /// Markdown.
  void add_text(std::string_view tag, std::string_view text, int64_t step);
  void flush();

  const std::string& path() const noexcept { return path_; }

 private:
  void add_value(const Message& value, int64_t step);
  void add_event(const Message& event);

  EventWriterOptions options_;
  std::string path_;
  int file_ = -1;
  std::string unwritten_;
  double last_flush_ = 0;  // steady_seconds()
};

}  // namespace kusari::training::tensorboard
