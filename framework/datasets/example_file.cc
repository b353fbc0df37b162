#include "kusari/framework/datasets/example_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/input_file.h"
#include "kusari/framework/datasets/cache.h"
#include "kusari/framework/datasets/example_format.h"
#include "kusari/framework/datasets/quoted_keys.h"
#include "kusari/framework/datasets/reading.h"

namespace kusari::datasets {
namespace {

namespace format = example_format;

constexpr size_t kBuffer = size_t{1} << 20;

format::Header read_header(const InputFile& file, const char* call) {
  std::vector<uint8_t> start(static_cast<size_t>(std::min<uint64_t>(file.size(), format::kMaxHeader)));
  file.read(0, start);
  format::Header header;
  std::string problem;
  if (!format::read_header(start, &header, &problem)) {
    throw IoError(std::string(call) + ": " + file.path() + " " + problem);
  }
  return header;
}

}  // namespace

struct ExampleFileWriter::State {
  std::string path, part;
  Keys keys;
  int fd = -1;
  std::vector<uint64_t> offsets;
  uint64_t written = 0;  // bytes in the file
  std::string buffer;    // bytes after them

  ~State() {
    if (fd < 0) return;
    try {
      flush();
    } catch (const IoError&) {
      // What is on the disk stays there; there is no caller to tell.
    }
    ::close(fd);
  }

  [[noreturn]] void fail(const std::string& what) const { throw IoError("ExampleFileWriter: " + part + " " + what); }
  [[noreturn]] void fail_with_reason(const std::string& what) const { fail(what + ": " + std::strerror(errno)); }

  void open(bool resume) {
    do {
      if (fd >= 0) ::close(fd);
      fd = ::open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
      if (fd < 0) fail_with_reason("cannot be opened");
      if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) fail("is being written by another writer");
        fail_with_reason("cannot be locked");
      }
    } while (!has_name());
    if (resume) find_examples();
    if (::ftruncate(fd, static_cast<off_t>(written)) != 0) fail_with_reason("cannot be cut");
    if (::lseek(fd, static_cast<off_t>(written), SEEK_SET) < 0) fail_with_reason("cannot be written");
    if (written == 0) format::write_header(keys, &buffer);
  }

  /// Whether the file is still the one of that name: another writer may have completed it before it was locked.
  bool has_name() const {
    struct stat opened {};
    struct stat named {};
    return ::fstat(fd, &opened) == 0 && ::stat(part.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
  }

  /// The records that are whole, one after the other from the beginning.
  void find_examples() {
    const InputFile file("ExampleFileWriter", part);
    if (file.size() == 0) return;
    const format::Header header = read_header(file, "ExampleFileWriter");
    if (header.keys != keys) fail("has the keys " + quoted_keys(header.keys) + ", not " + quoted_keys(keys));
    written = header.size;
    std::vector<uint8_t> bytes;
    while (file.size() - written >= format::kRecordHeader) {
      bytes.resize(format::kRecordHeader);
      file.read(written, bytes);
      const format::RecordHeader record = format::read_record_header(bytes);
      if (record.size > file.size() - written - format::kRecordHeader) break;
      bytes.resize(static_cast<size_t>(record.size));
      file.read(written + format::kRecordHeader, bytes);
      if (format::crc_of(bytes) != record.crc) break;
      offsets.push_back(written);
      written += format::kRecordHeader + record.size;
    }
  }

  void flush() {
    for (std::string_view rest = buffer; !rest.empty();) {
      const ssize_t n = ::write(fd, rest.data(), rest.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        const int error = errno;
        buffer.erase(0, buffer.size() - rest.size());
        errno = error;
        fail_with_reason("cannot be written");
      }
      written += static_cast<uint64_t>(n);
      rest.remove_prefix(static_cast<size_t>(n));
    }
    buffer.clear();
  }

  void close() {
    flush();
    const uint64_t end = written;
    format::write_index(offsets, end, &buffer);
    try {
      flush();
      if (::fsync(fd) != 0) fail_with_reason("cannot be written to the disk");
      if (::rename(part.c_str(), path.c_str()) != 0) fail_with_reason("cannot be renamed to " + path);
    } catch (const IoError&) {
      // Without the index, more examples and another close() can follow.
      buffer.clear();
      written = end;
      if (::ftruncate(fd, static_cast<off_t>(end)) != 0 || ::lseek(fd, static_cast<off_t>(end), SEEK_SET) < 0) {
        ::close(std::exchange(fd, -1));
      }
      throw;
    }
    ::close(std::exchange(fd, -1));
    const std::string folder = std::filesystem::absolute(path).parent_path().string();
    const int directory = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC);
    if (directory < 0) return;
    ::fsync(directory);
    ::close(directory);
  }
};

ExampleFileWriter::ExampleFileWriter(const std::string& path, const ExampleFileOptions& options)
    : ExampleFileWriter(path, path + ".part", options) {}
ExampleFileWriter::ExampleFileWriter(const std::string& path, const std::string& part,
                                     const ExampleFileOptions& options)
    : state_{std::make_unique<State>()} {
  state_->path = path;
  state_->part = part;
  state_->keys = options.keys;
  reading("ExampleFileWriter", part, [&] { state_->open(options.resume); });
}
ExampleFileWriter::ExampleFileWriter(ExampleFileWriter&&) noexcept = default;
ExampleFileWriter& ExampleFileWriter::operator=(ExampleFileWriter&&) noexcept = default;
ExampleFileWriter::~ExampleFileWriter() = default;

void ExampleFileWriter::write(const Example& example) {
  State& state = *state_;
  if (state.fd < 0) throw StateError("ExampleFileWriter::write: the file is closed");
  if (!state.keys.empty() && example.size() != state.keys.size()) {
    throw ValueError("ExampleFileWriter::write: the example has " + std::to_string(example.size()) +
                     " arrays, but the keys are " + quoted_keys(state.keys));
  }
  for (size_t i = 0; i < example.size(); ++i) {
    if (!example[i].is_defined()) {
      throw ValueError("ExampleFileWriter::write: array " + std::to_string(i) + " is undefined");
    }
  }
  const size_t buffered = state.buffer.size();
  const uint64_t offset = state.written + buffered;
  try {
    format::write_record(example, &state.buffer);
  } catch (...) {
    state.buffer.resize(buffered);
    throw;
  }
  state.offsets.push_back(offset);
  if (state.buffer.size() >= kBuffer) state.flush();
}

void ExampleFileWriter::flush() {
  if (state_->fd < 0) throw StateError("ExampleFileWriter::flush: the file is closed");
  state_->flush();
}

int64_t ExampleFileWriter::size() const noexcept { return static_cast<int64_t>(state_->offsets.size()); }

void ExampleFileWriter::close() {
  if (state_->fd < 0) throw StateError("ExampleFileWriter::close: the file is closed");
  state_->close();
}

struct ExampleFileDataset::State {
  explicit State(const std::string& path) : file{"ExampleFileDataset", path} {
    header = read_header(file, "ExampleFileDataset");
    if (file.size() < header.size + format::kTrailer) fail("is cut off: it has no index");
    std::vector<uint8_t> bytes(format::kTrailer);
    file.read(file.size() - bytes.size(), bytes);
    format::Trailer trailer;
    std::string problem;
    if (!format::read_trailer(bytes, &trailer, &problem)) fail(problem);
    const uint64_t trailer_offset = file.size() - format::kTrailer;
    end = trailer.index_offset;
    if (end < header.size || end > trailer_offset || (trailer_offset - end) / sizeof(uint64_t) != trailer.count ||
        (trailer_offset - end) % sizeof(uint64_t) != 0) {
      fail("is damaged: it says that an index of " + std::to_string(trailer.count) + " examples begins at byte " +
           std::to_string(end) + ", but it has " + std::to_string(file.size()) + " bytes");
    }
    constexpr size_t kCounted = 2 * sizeof(uint64_t);  // of the trailer in its CRC-32
    bytes.resize(static_cast<size_t>(trailer_offset - end) + kCounted);
    file.read(end, bytes);
    if (format::crc_of(bytes) != trailer.crc) {
      fail("is damaged: the CRC-32 of its index, from byte " + std::to_string(end) + " on, is another");
    }
    offsets = format::read_index(bytes, trailer.count);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw IoError("ExampleFileDataset: " + file.path() + " " + what);
  }
  [[noreturn]] void fail_in(int64_t i, uint64_t offset, const std::string& what) const {
    fail("is damaged: example " + std::to_string(i) + ", at byte " + std::to_string(offset) + ", " + what);
  }

  Example read(int64_t i) const {
    const uint64_t offset = offsets[static_cast<size_t>(i)];
    const size_t next = static_cast<size_t>(i) + 1;
    const uint64_t limit = next < offsets.size() ? offsets[next] : end;
    if (offset < header.size || limit > end || offset > limit || limit - offset < format::kRecordHeader) {
      fail_in(i, offset, "ends at byte " + std::to_string(limit) + " of " + std::to_string(end));
    }
    std::vector<uint8_t> bytes(static_cast<size_t>(limit - offset));
    file.read(offset, bytes);
    const format::RecordHeader record = format::read_record_header(bytes);
    const auto content = std::span(bytes).subspan(format::kRecordHeader);
    if (record.size != content.size()) {
      fail_in(i, offset,
              "says that it has " + std::to_string(record.size) + " bytes, but there are " +
                  std::to_string(content.size()));
    }
    if (format::crc_of(content) != record.crc) fail_in(i, offset, "has another CRC-32");
    Example example;
    std::string problem;
    if (!format::read_record(content, &example, &problem)) fail_in(i, offset, problem);
    return example;
  }

  InputFile file;
  format::Header header;
  uint64_t end = 0;  // of the records
  std::vector<uint64_t> offsets;
};

ExampleFileDataset::ExampleFileDataset(const std::string& path)
    : state_{reading("ExampleFileDataset", path, [&] { return std::make_shared<const State>(path); })} {}

int64_t ExampleFileDataset::size() const { return static_cast<int64_t>(state_->offsets.size()); }
Keys ExampleFileDataset::keys() const { return state_->header.keys; }

Example ExampleFileDataset::get(int64_t i) const {
  check_index("ExampleFileDataset::get", i, size());
  return reading("ExampleFileDataset", state_->file.path(), [&] { return state_->read(i); });
}

ExampleFileDataset cache_dataset(const std::string& path, const Dataset& dataset) {
  create_cached_file(path, [&](const std::string& temporary) {
    ExampleFileWriter writer(temporary, temporary, {.keys = dataset.keys()});
    for (int64_t i = 0; i < dataset.size(); ++i) writer.write(dataset.get(i));
    writer.close();
  });
  return ExampleFileDataset(path);
}

}  // namespace kusari::datasets
