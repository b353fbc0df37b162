#include "kusari/framework/datasets/tar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <zlib.h>

#include "kusari/framework/core/deflate.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/input_file.h"
#include "kusari/framework/datasets/reading.h"

namespace kusari::datasets {
namespace {

constexpr size_t kBlock = 512;
constexpr uint64_t kMaxExtendedHeader = uint64_t{1} << 20;
constexpr size_t kTarChunk = size_t{1} << 18;

using Block = std::array<char, kBlock>;

/// The bytes of an archive in their order, decompressed.
class Stream {
 public:
  explicit Stream(const std::string& path) : file_{"tar", path} {
    std::array<uint8_t, 2> start = {};
    if (file_.size() >= start.size()) file_.read(0, start);
    if (start != std::array<uint8_t, 2>{0x1f, 0x8b}) return;
    input_.resize(kTarChunk);
    if (inflateInit2(&z_, 16 + MAX_WBITS) != Z_OK) throw OutOfMemoryError("tar: zlib has no memory");
    inflating_ = true;
  }
  ~Stream() {
    if (inflating_) inflateEnd(&z_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  bool is_gzip() const { return inflating_; }
  const std::string& path() const { return file_.path(); }
  uint64_t position() const { return position_; }
  /// No archive in this file has more bytes.
  uint64_t limit() const { return inflating_ ? file_.size() * kBestDeflateRatio : file_.size(); }

  /// Fills `out` as far as there is data; gives the number of bytes.
  size_t read(std::span<uint8_t> out) {
    size_t count = 0;
    if (inflating_) {
      count = inflate_into(out);
    } else {
      count = static_cast<size_t>(std::min<uint64_t>(out.size(), file_.size() - position_));
      file_.read(position_, out.first(count));
    }
    position_ += count;
    return count;
  }

  /// Gives false when there are fewer bytes.
  bool skip(uint64_t count) {
    if (!inflating_) {
      if (count > file_.size() - position_) return false;
      position_ += count;
      return true;
    }
    std::array<uint8_t, 4096> waste;
    while (count > 0) {
      const size_t n = static_cast<size_t>(std::min<uint64_t>(count, waste.size()));
      if (read(std::span(waste).first(n)) < n) return false;
      count -= n;
    }
    return true;
  }

  /// Reads what follows the archive, so that the checks at the end of gzip data are made.
  void drain() {
    std::vector<uint8_t> waste(kTarChunk);
    while (inflating_ && read(waste) == waste.size()) {
    }
  }

 private:
  size_t inflate_into(std::span<uint8_t> out) {
    z_.next_out = out.data();
    z_.avail_out = static_cast<uInt>(out.size());  // chunks and headers, far below 4 GiB
    while (z_.avail_out > 0) {
      if (z_.avail_in == 0) {
        const uint64_t n = std::min<uint64_t>(file_.size() - taken_, input_.size());
        if (n == 0) {
          if (!ended_) fail("is cut off: its gzip data does not end");
          break;
        }
        file_.read(taken_, std::span(input_).first(static_cast<size_t>(n)));
        taken_ += n;
        z_.next_in = input_.data();
        z_.avail_in = static_cast<uInt>(n);
      }
      if (ended_) inflateReset(&z_);  // gzip files may follow one another
      const int status = inflate(&z_, Z_NO_FLUSH);
      ended_ = status == Z_STREAM_END;
      if (status != Z_OK && !ended_) fail(std::string("is damaged: ") + (z_.msg ? z_.msg : "not gzip"));
    }
    return out.size() - z_.avail_out;
  }

  [[noreturn]] void fail(const std::string& what) const { throw IoError("tar: " + path() + " " + what); }

  InputFile file_;
  uint64_t position_ = 0;
  bool inflating_ = false;
  z_stream z_ = {};
  bool ended_ = false;  // a gzip file
  uint64_t taken_ = 0;  // bytes of the file that went to input_
  std::vector<uint8_t> input_;
};

/// A field's text, up to its end or the first zero.
std::string_view text(const Block& block, size_t at, size_t size) {
  const std::string_view field(block.data() + at, size);
  return field.substr(0, field.find('\0'));
}

/// Octal digits between blanks and zeros, or (GNU) a big-endian number after a byte 0x80; nothing when it is neither.
std::optional<uint64_t> number(const Block& block, size_t at, size_t size) {
  const char* const field = block.data() + at;
  uint64_t value = 0;
  if (static_cast<unsigned char>(field[0]) == 0x80) {
    for (size_t i = 1; i < size; ++i) {
      if (value >> 55) return std::nullopt;
      value = value << 8 | static_cast<unsigned char>(field[i]);
    }
    return value;
  }
  size_t i = 0;
  while (i < size && field[i] == ' ') ++i;
  for (; i < size && field[i] >= '0' && field[i] <= '7'; ++i)
    value = value << 3 | static_cast<uint64_t>(field[i] - '0');
  if (i < size && field[i] != ' ' && field[i] != '\0') return std::nullopt;
  return value;
}

bool checksum_matches(const Block& block) {
  constexpr size_t kAt = 148, kSize = 8;
  uint64_t sum = 0;
  int64_t signed_sum = 0;  // what some old programs wrote
  for (size_t i = 0; i < kBlock; ++i) {
    const char c = i >= kAt && i < kAt + kSize ? ' ' : block[i];
    sum += static_cast<unsigned char>(c);
    signed_sum += static_cast<signed char>(c);
  }
  const std::optional<uint64_t> expected = number(block, kAt, kSize);
  return expected && (*expected == sum || static_cast<int64_t>(*expected) == signed_sum);
}

std::string name_of(const Block& block) {
  std::string name(text(block, 0, 100));
  const bool ustar = std::memcmp(block.data() + 257, "ustar\0", 6) == 0;  // GNU's magic is "ustar  "
  const std::string_view prefix = ustar ? text(block, 345, 155) : std::string_view();
  return prefix.empty() ? name : std::string(prefix) + "/" + name;
}

/// What extended headers say about the next entry.
struct Extension {
  std::string name;  // "": nothing
  std::optional<uint64_t> size;
  bool sparse = false;

  /// Records "length key=value\n" (POSIX.1-2008, pax); false when they are damaged.
  bool add_pax(std::string_view records) {
    while (!records.empty() && records[0] != '\0') {
      size_t length = 0;
      const auto [end, error] = std::from_chars(records.data(), records.data() + records.size(), length);
      const size_t digits = static_cast<size_t>(end - records.data());
      if (error != std::errc() || length > records.size() || length < digits + 3 || *end != ' ') return false;
      const std::string_view record = records.substr(digits + 1, length - digits - 2);
      const size_t equals = record.find('=');
      if (records[length - 1] != '\n' || equals == std::string_view::npos) return false;
      const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
      if (key == "path") {
        name = value;
      } else if (key == "size") {
        uint64_t bytes = 0;
        const auto result = std::from_chars(value.data(), value.data() + value.size(), bytes);
        if (result.ec != std::errc() || result.ptr != value.data() + value.size()) return false;
        size = bytes;
      } else if (key.starts_with("GNU.sparse.")) {
        sparse = true;
      }
      records.remove_prefix(length);
    }
    return true;
  }
};

}  // namespace

struct TarReader::State {
  explicit State(const std::string& path) : stream{path} {}

  Stream stream;
  TarEntry entry;
  uint64_t unread = 0;  // bytes of the current entry's content and padding that have not been read
  bool at_content = false;
  bool ended = false;

  [[noreturn]] void fail(const std::string& what) const { throw IoError("tar: " + stream.path() + " " + what); }
  [[noreturn]] void cut_off() const {
    fail("is cut off" + (entry.name.empty() ? "" : ": it ends in or after '" + entry.name + "'"));
  }

  static uint64_t padded(uint64_t size) { return (size + kBlock - 1) / kBlock * kBlock; }

  /// The block at the stream's position; nothing at the end of the archive.
  std::optional<Block> header() {
    Block block;
    const size_t n = stream.read({reinterpret_cast<uint8_t*>(block.data()), block.size()});
    if (n < kBlock) cut_off();
    if (std::all_of(block.begin(), block.end(), [](char c) { return c == '\0'; })) return std::nullopt;
    if (!checksum_matches(block)) {
      fail("is damaged, or no tar archive: the header at byte " + std::to_string(stream.position() - kBlock) +
           " has a wrong checksum");
    }
    return block;
  }

  std::string read_extended(uint64_t size) {
    if (size > kMaxExtendedHeader) fail("is damaged: it has an extended header of " + std::to_string(size) + " bytes");
    std::string content(static_cast<size_t>(size), '\0');
    const size_t n = stream.read({reinterpret_cast<uint8_t*>(content.data()), content.size()});
    if (n < size || !stream.skip(padded(size) - size)) cut_off();
    return content;
  }

  bool next() {
    if (ended) return false;
    if (!stream.skip(unread)) cut_off();
    unread = 0;
    at_content = false;
    Extension extension;
    while (const std::optional<Block> block = header()) {
      const char type = (*block)[156];
      const std::optional<uint64_t> stored_size = number(*block, 124, 12);
      if (!stored_size) fail("is damaged: '" + name_of(*block) + "' has no readable size");
      const uint64_t size = extension.size.value_or(*stored_size);
      if (type == 'x') {
        if (!extension.add_pax(read_extended(*stored_size))) fail("is damaged in a pax header");
        continue;
      }
      if (type == 'L') {
        const std::string name = read_extended(*stored_size);
        extension.name = name.substr(0, name.find('\0'));
        continue;
      }
      if (type == 'K' || type == 'g') {  // the target of a link; what holds for all entries
        read_extended(*stored_size);
        continue;
      }
      entry.name = extension.name.empty() ? name_of(*block) : extension.name;
      const bool regular = (type == '0' || type == '\0' || type == '7') && !entry.name.ends_with('/');
      if (type == 'S' || (regular && extension.sparse))
        fail("has the sparse file '" + entry.name + "': it cannot be read");
      extension = {};
      if (!regular && (type == '\0' || (type >= '0' && type <= '7'))) continue;  // these have no content
      entry.size = size;
      entry.offset = stream.position();
      if (size > stream.limit() || entry.offset > stream.limit() - size) {
        fail("is cut off or damaged: '" + entry.name + "' claims " + std::to_string(size) + " bytes");
      }
      if (!regular) {
        if (!stream.skip(padded(size))) cut_off();
        continue;
      }
      unread = padded(size);
      at_content = true;
      return true;
    }
    ended = true;
    stream.drain();
    return false;
  }

  void read(std::vector<uint8_t>& out) {
    reading("tar", stream.path(), [&] { read_content(out); });
  }

  void read_content(std::vector<uint8_t>& out) {
    if (!at_content) throw StateError("TarReader::read: there is no file to read; call next() before each read()");
    at_content = false;
    for (uint64_t left = entry.size; left > 0;) {
      const size_t n = static_cast<size_t>(std::min<uint64_t>(left, kTarChunk)), before = out.size();
      out.resize(before + n);
      if (stream.read({out.data() + before, n}) < n) cut_off();
      left -= n;
    }
    unread -= entry.size;
  }
};

TarReader::TarReader(const std::string& path)
    : state_{reading("tar", path, [&] { return std::make_unique<State>(path); })} {}
TarReader::TarReader(TarReader&&) noexcept = default;
TarReader& TarReader::operator=(TarReader&&) noexcept = default;
TarReader::~TarReader() = default;

bool TarReader::next() {
  return reading("tar", state_->stream.path(), [&] { return state_->next(); });
}
const TarEntry& TarReader::entry() const noexcept { return state_->entry; }
void TarReader::read(std::vector<uint8_t>& out) { state_->read(out); }
bool TarReader::is_gzip() const noexcept { return state_->stream.is_gzip(); }

struct TarArchive::State {
  explicit State(const std::string& path) : file{"tar", path} {}
  InputFile file;
  std::vector<TarEntry> entries;
  bool in_memory = false;
  std::vector<uint8_t> content;  // of all entries, one after the other
  std::vector<size_t> starts;    // of each in `content`
};

TarArchive::TarArchive(const std::string& path, bool in_memory) {
  auto state = std::make_shared<State>(path);
  TarReader reader(path);
  state->in_memory = in_memory || reader.is_gzip();
  reading("tar", path, [&] {
    while (reader.next()) {
      state->entries.push_back(reader.entry());
      if (!state->in_memory) continue;
      state->starts.push_back(state->content.size());
      reader.read(state->content);
    }
    state->content.shrink_to_fit();
  });
  state_ = std::move(state);
}

const std::string& TarArchive::path() const noexcept { return state_->file.path(); }
const std::vector<TarEntry>& TarArchive::entries() const noexcept { return state_->entries; }

std::span<const uint8_t> TarArchive::read(size_t i, std::vector<uint8_t>& buffer) const {
  if (i >= state_->entries.size()) {
    throw IndexError("TarArchive::read: index " + std::to_string(i) + " of " + std::to_string(state_->entries.size()) +
                     " entries");
  }
  const TarEntry& entry = state_->entries[i];
  const size_t size = static_cast<size_t>(entry.size);
  if (state_->in_memory) return std::span(state_->content).subspan(state_->starts[i], size);
  reading("tar", path() + ": entry '" + entry.name + "'", [&] { buffer.resize(size); });
  state_->file.read(entry.offset, buffer);
  return buffer;
}

}  // namespace kusari::datasets
