#include "kusari/framework/training/tensorboard/event_writer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/seconds.h"
#include "kusari/framework/training/tensorboard/crc32c.h"
#include "kusari/framework/training/tensorboard/protobuf.h"

// Numbers of fields: tensorflow/core/util/event.proto, tensorflow/core/framework/{summary,tensor,tensor_shape}.proto.

namespace kusari::training::tensorboard {
namespace {

[[noreturn]] void fail(const char* what, const std::string& path, int error) {
  throw IoError("tensorboard::EventWriter: cannot " + std::string(what) + " '" + path +
                "': " + std::generic_category().message(error));
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string file_name() {
  static std::atomic<int> number{0};
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) std::strcpy(host.data(), "localhost");
  return "events.out.tfevents." + std::to_string(static_cast<int64_t>(seconds_since_1970())) + "." + host.data() + "." +
         std::to_string(::getpid()) + "." + std::to_string(number++);
}

/// Upper limits of TensorFlow's default buckets (tensorflow/core/lib/histogram/histogram.cc).
const std::vector<double>& bucket_limits() {
  static const std::vector<double> limits = [] {
    std::vector<double> positive;
    for (double v = 1e-12; v < 1e20; v *= 1.1) positive.push_back(v);
    positive.push_back(std::numeric_limits<double>::max());
    std::vector<double> all;
    for (auto v = positive.rbegin(); v != positive.rend(); ++v) all.push_back(-*v);
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    return all;
  }();
  return limits;
}

/// HistogramProto; runs of empty buckets are one.
Message histogram(const std::vector<double>& values) {
  const std::vector<double>& limits = bucket_limits();
  std::vector<double> counts(limits.size(), 0);
  double sum = 0, squares = 0;
  for (const double x : values) {
    const auto bucket = std::upper_bound(limits.begin(), limits.end(), x) - limits.begin();
    counts[std::min(static_cast<size_t>(bucket), limits.size() - 1)] += 1;
    sum += x;
    squares += x * x;
  }
  std::vector<double> used_limits, used_counts;
  for (size_t i = 0; i < limits.size(); ++i) {
    if (counts[i] == 0 && !used_counts.empty() && used_counts.back() == 0) {
      used_limits.back() = limits[i];
    } else {
      used_limits.push_back(limits[i]);
      used_counts.push_back(counts[i]);
    }
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  Message result;
  result.real(1, *low).real(2, *high).real(3, static_cast<double>(values.size())).real(4, sum).real(5, squares);
  result.reals(6, used_limits).reals(7, used_counts);
  return result;
}

std::string little_endian(uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

/// A TFRecord: length and data, each with its CRC.
std::string record(const std::string& data) {
  const std::string length = little_endian(data.size(), 8);
  return length + little_endian(masked_crc32c(length), 4) + data + little_endian(masked_crc32c(data), 4);
}

}  // namespace

EventWriter::EventWriter(const std::string& directory, EventWriterOptions options) : options_{options} {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) fail("make the directory", directory, error.value());
  path_ = (std::filesystem::path(directory) / file_name()).string();
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) fail("make the file", path_, errno);
  Message version;
  version.real(1, seconds_since_1970()).text(3, "brain.Event:2");
  add_event(version);
  if (options_.first_step) {
    Message session, event;
    session.integer(1, 1);  // SessionLog.START
    event.real(1, seconds_since_1970()).integer(2, static_cast<uint64_t>(*options_.first_step)).message(7, session);
    add_event(event);
  }
  try {
    flush();
  } catch (...) {
    ::close(file_);
    throw;
  }
}

EventWriter::~EventWriter() {
  try {
    flush();
  } catch (const std::exception& error) {
    log::warn(error.what());
  }
  ::close(file_);
}

void EventWriter::add_event(const Message& event) { unwritten_ += record(event.bytes()); }

void EventWriter::add_value(const Message& value, int64_t step) {
  Message summary, event;
  summary.message(1, value);
  event.real(1, seconds_since_1970()).integer(2, static_cast<uint64_t>(step)).message(5, summary);
  add_event(event);
  const double waited = steady_seconds() - last_flush_;
  if (waited >= options_.flush_seconds) flush();
}

void EventWriter::add_scalar(std::string_view tag, double value, int64_t step) {
  Message summary_value;
  summary_value.text(1, tag).real32(2, static_cast<float>(value));
  add_value(summary_value, step);
}

void EventWriter::add_histogram(std::string_view tag, std::span<const double> values, int64_t step) {
  std::vector<double> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite), [](double x) { return std::isfinite(x); });
  if (finite.empty()) return;
  Message summary_value;
  summary_value.text(1, tag).message(5, histogram(finite));
  add_value(summary_value, step);
}

void EventWriter::add_image(std::string_view tag, std::string_view png, int64_t height, int64_t width, int64_t step) {
  Message image, summary_value;
  const uint64_t rgb = 3;
  image.integer(1, static_cast<uint64_t>(height)).integer(2, static_cast<uint64_t>(width)).integer(3, rgb).text(4, png);
  summary_value.text(1, tag).message(4, image);
  add_value(summary_value, step);
}

void EventWriter::add_text(std::string_view tag, std::string_view text, int64_t step) {
  Message plugin, metadata, axis, shape, tensor, summary_value;
  plugin.text(1, "text");
  metadata.message(1, plugin);
  axis.integer(1, 1);
  shape.message(2, axis);
  tensor.integer(1, 7).message(2, shape).text(8, text);  // DT_STRING
  summary_value.text(1, tag).message(8, tensor).message(9, metadata);
  add_value(summary_value, step);
}

void EventWriter::flush() {
  last_flush_ = steady_seconds();
  for (size_t done = 0; done < unwritten_.size();) {
    const ssize_t count = ::write(file_, unwritten_.data() + done, unwritten_.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      unwritten_.erase(0, done);
      fail("write", path_, error);
    }
    done += static_cast<size_t>(count);
  }
  unwritten_.clear();
}

}  // namespace kusari::training::tensorboard
