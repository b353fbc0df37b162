#include <algorithm>
#include <map>

#include <zlib.h>

#include "kusari/framework/core/deflate.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/input_file.h"
#include "kusari/framework/serializers/crc32.h"
#include "kusari/framework/serializers/zip.h"
#include "kusari/framework/serializers/zip_format.h"

namespace kusari::serializers {
namespace zf = zip_format;
namespace {

constexpr size_t kReadChunk = size_t{1} << 16;
constexpr size_t kInflateChunk = size_t{1} << 30;  // zlib counts in 32 bits
constexpr size_t kLongestCentralHeader = zf::kCentralHeaderSize + 3 * size_t{zf::kMax16};

std::string bytes_at(const InputFile& file, uint64_t offset, uint64_t size) {
  std::string bytes(size, '\0');
  file.read(offset, {reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()});
  return bytes;
}

struct Directory {
  uint64_t count = 0;
  uint64_t size = 0;
  uint64_t offset = 0;
  uint64_t end = 0;  // where the records after it begin
};

[[noreturn]] void damaged(const InputFile& file, const std::string& what) {
  throw IoError("zip: " + file.path() + " is not a whole zip archive: " + what);
}

Directory locate_directory(const InputFile& file) {
  if (file.size() < zf::kEndOfDirectorySize) damaged(file, "it has only " + std::to_string(file.size()) + " bytes");
  // The end record is the last thing but for a comment of at most 65535 bytes.
  const uint64_t tail_size = std::min<uint64_t>(file.size(), zf::kEndOfDirectorySize + zf::kMax16);
  const uint64_t tail_offset = file.size() - tail_size;
  const std::string tail = bytes_at(file, tail_offset, tail_size);
  size_t at = tail.size() - zf::kEndOfDirectorySize;
  while (zf::load32(&tail[at]) != zf::kEndOfDirectory ||
         zf::load16(&tail[at + 20]) != tail.size() - at - zf::kEndOfDirectorySize) {
    if (at == 0) damaged(file, "the end of its directory is missing (cut off, or another kind of file)");
    --at;
  }
  Directory d;
  d.end = tail_offset + at;
  const uint16_t disk = zf::load16(&tail[at + 4]), directory_disk = zf::load16(&tail[at + 6]);
  uint64_t count_here = zf::load16(&tail[at + 8]);  // on this disk, of which there is one
  d.count = zf::load16(&tail[at + 10]);
  d.size = zf::load32(&tail[at + 12]);
  d.offset = zf::load32(&tail[at + 16]);
  if ((disk != 0 && disk != zf::kMax16) || directory_disk != disk) {
    damaged(file, "archives in several parts cannot be read");
  }
  if (d.count == zf::kMax16 || d.size == zf::kMax32 || d.offset == zf::kMax32) {
    if (d.end >= zf::kZip64LocatorSize) {
      const std::string locator = bytes_at(file, d.end - zf::kZip64LocatorSize, zf::kZip64LocatorSize);
      if (zf::load32(locator.data()) == zf::kZip64Locator) {
        const uint64_t offset = zf::load64(&locator[8]);
        const uint64_t limit = d.end - zf::kZip64LocatorSize;
        if (limit < zf::kZip64EndOfDirectorySize || offset > limit - zf::kZip64EndOfDirectorySize) {
          damaged(file, "its zip64 end record lies outside the file");
        }
        const std::string record = bytes_at(file, offset, zf::kZip64EndOfDirectorySize);
        if (zf::load32(record.data()) != zf::kZip64EndOfDirectory) damaged(file, "its zip64 end record is missing");
        count_here = zf::load64(&record[24]);
        d.count = zf::load64(&record[32]);
        d.size = zf::load64(&record[40]);
        d.offset = zf::load64(&record[48]);
        d.end = offset;
      }
    }
  }
  if (d.offset > d.end || d.size > d.end - d.offset) damaged(file, "its directory lies outside the file");
  if (d.size != d.end - d.offset) damaged(file, "its directory is followed by something else than its end record");
  if (count_here != d.count) damaged(file, "its end record gives two numbers of entries");
  if (d.count > d.size / zf::kCentralHeaderSize) damaged(file, "its directory is too short for its entries");
  if (d.size / kLongestCentralHeader > d.count) damaged(file, "its directory is too long for its entries");
  return d;
}

/// Replaces the sizes and the offset that did not fit 32 bits by those of the zip64 extra field, of the directory or of
/// a local header, which has no offset.
void apply_zip64(const InputFile& file, std::string_view extra, ZipEntry& entry) {
  while (extra.size() >= 4) {
    const uint16_t id = zf::load16(extra.data());
    const size_t length = zf::load16(extra.data() + 2);
    if (length > extra.size() - 4) break;
    std::string_view field = extra.substr(4, length);
    extra.remove_prefix(4 + length);
    if (id != zf::kZip64Extra) continue;
    for (uint64_t* value : {&entry.size, &entry.compressed_size, &entry.offset}) {
      if (*value != zf::kMax32) continue;
      if (field.size() < 8) damaged(file, "entry '" + entry.name + "' has a zip64 field that is too short");
      *value = zf::load64(field.data());
      field.remove_prefix(8);
    }
    return;
  }
}

std::vector<ZipEntry> read_directory(const InputFile& file, const Directory& d) {
  const std::string bytes = bytes_at(file, d.offset, d.size);
  std::vector<ZipEntry> entries;
  entries.reserve(d.count);
  size_t at = 0;
  for (uint64_t i = 0; i < d.count; ++i) {
    if (bytes.size() - at < zf::kCentralHeaderSize || zf::load32(&bytes[at]) != zf::kCentralHeader) {
      damaged(file, "entry " + std::to_string(i) + " of its directory is damaged");
    }
    const char* p = &bytes[at];
    const size_t name = zf::load16(p + 28), extra = zf::load16(p + 30), comment = zf::load16(p + 32);
    if (bytes.size() - at - zf::kCentralHeaderSize < name + extra + comment) {
      damaged(file, "entry " + std::to_string(i) + " of its directory is cut off");
    }
    ZipEntry& e = entries.emplace_back();
    e.name.assign(p + zf::kCentralHeaderSize, name);
    if (const uint16_t disk = zf::load16(p + 34); disk != 0 && disk != zf::kMax16) {
      damaged(file, "entry '" + e.name + "' lies in another part of an archive");
    }
    e.flags = zf::load16(p + 8);
    e.method = zf::load16(p + 10);
    e.time = zf::load32(p + 12);
    e.crc = zf::load32(p + 16);
    e.compressed_size = zf::load32(p + 20);
    e.size = zf::load32(p + 24);
    e.offset = zf::load32(p + 42);
    apply_zip64(file, {p + zf::kCentralHeaderSize + name, extra}, e);
    at += zf::kCentralHeaderSize + name + extra + comment;
  }
  if (at != bytes.size()) damaged(file, "its directory has more than the entries that its end record counts");
  return entries;
}

/// Entries lie one after another before the directory: what overlaps would give more than the file can hold.
void check_places(const InputFile& file, const Directory& d, const std::vector<ZipEntry>& entries) {
  std::vector<const ZipEntry*> order;
  for (const ZipEntry& e : entries) order.push_back(&e);
  std::sort(order.begin(), order.end(), [](const ZipEntry* a, const ZipEntry* b) { return a->offset < b->offset; });
  for (size_t i = 0; i < order.size(); ++i) {
    const ZipEntry& e = *order[i];
    const uint64_t limit = i + 1 < order.size() ? order[i + 1]->offset : d.offset;
    const uint64_t header = zf::kLocalHeaderSize + e.name.size();
    if (e.offset <= limit && limit - e.offset >= header && limit - e.offset - header >= e.compressed_size) continue;
    damaged(file, "entry '" + e.name + "' reaches " +
                      (i + 1 < order.size() ? "into entry '" + order[i + 1]->name + "'" : "past its end"));
  }
}

}  // namespace

struct ZipReader::State {
  explicit State(const std::string& path) : file{"zip", path}, directory{locate_directory(file)} {
    entries = read_directory(file, directory);
    check_places(file, directory, entries);
    for (const ZipEntry& e : entries) {
      if (!by_name.emplace(e.name, &e).second) damaged(file, "it has two entries '" + e.name + "'");
    }
  }
  InputFile file;
  Directory directory;
  std::vector<ZipEntry> entries;
  std::map<std::string_view, const ZipEntry*> by_name;
};

struct ZipStream::State {
  State(Shared<const ZipReader::State> zip_state, const ZipEntry& which, bool is_read = true)
      : zip{std::move(zip_state)}, entry{which}, remaining{which.size} {
    locate();
    if (is_read && entry.method == static_cast<uint16_t>(ZipMethod::deflated)) {
      input.resize(kReadChunk);
      if (inflateInit2(&z, -MAX_WBITS) != Z_OK) throw OutOfMemoryError("zip: zlib has no memory to inflate");
      inflating = true;
    }
  }
  ~State() {
    if (inflating) inflateEnd(&z);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  [[noreturn]] void fail(const std::string& what) const {
    throw IoError("zip: " + zip->file.path() + ": entry '" + entry.name + "' " + what);
  }

  void locate() {
    if (entry.flags & zf::kFlagEncrypted) fail("is encrypted");
    const bool stored = entry.method == static_cast<uint16_t>(ZipMethod::stored);
    if (!stored && entry.method != static_cast<uint16_t>(ZipMethod::deflated)) {
      fail("has compression method " + std::to_string(entry.method) + ": only 0 (stored) and 8 (deflate) can be read");
    }
    const uint64_t limit = zip->directory.offset;
    if (limit < zf::kLocalHeaderSize || entry.offset > limit - zf::kLocalHeaderSize) fail("lies outside the file");
    const std::string header = bytes_at(zip->file, entry.offset, zf::kLocalHeaderSize);
    if (zf::load32(header.data()) != zf::kLocalHeader) fail("has no local header");
    const size_t name = zf::load16(&header[26]), extra = zf::load16(&header[28]);
    offset = entry.offset + zf::kLocalHeaderSize + name + extra;
    if (offset > limit || entry.compressed_size > limit - offset) fail("reaches past the end of the file");
    if (stored ? entry.size != entry.compressed_size : entry.size / kBestDeflateRatio > entry.compressed_size) {
      fail("claims " + std::to_string(entry.size) + " bytes in " + std::to_string(entry.compressed_size));
    }
    compare(header, bytes_at(zip->file, entry.offset + zf::kLocalHeaderSize, name + extra), name);
    left = entry.compressed_size;
  }

  /// The directory says again what the local header says: where they differ, one is damaged.
  void compare(const std::string& header, const std::string& after, size_t name) const {
    ZipEntry local;
    local.name = after.substr(0, name);
    local.flags = zf::load16(&header[6]);
    local.method = zf::load16(&header[8]);
    local.time = zf::load32(&header[10]);
    local.crc = zf::load32(&header[14]);
    local.compressed_size = zf::load32(&header[18]);
    local.size = zf::load32(&header[22]);
    apply_zip64(zip->file, std::string_view(after).substr(name), local);
    const auto differ = [&](const char* what) { fail(std::string("has another ") + what + " in the directory"); };
    if (local.name != entry.name) differ("name");
    if (local.flags != entry.flags) differ("set of flags");
    if (local.method != entry.method) differ("compression method");
    if (local.time != entry.time) differ("time");
    // Written before they were known, they follow the data.
    const auto is_same = [&](uint64_t here, uint64_t there) {
      return here == there || ((entry.flags & zf::kFlagDescriptor) != 0 && (here == 0 || here == zf::kMax32));
    };
    if (!is_same(local.crc, entry.crc)) differ("CRC-32");
    if (!is_same(local.compressed_size, entry.compressed_size)) differ("compressed size");
    if (!is_same(local.size, entry.size)) differ("size");
  }

  void read_some(char* data, size_t size) {
    if (!inflating) {
      zip->file.read(offset, {reinterpret_cast<uint8_t*>(data), size});
      offset += size;
      left -= size;
      return;
    }
    z.next_out = reinterpret_cast<Bytef*>(data);
    z.avail_out = static_cast<uInt>(size);
    while (z.avail_out > 0) {
      if (step() == Z_STREAM_END && z.avail_out > 0) fail("is shorter than its directory says");
    }
  }

  /// One call of inflate, fed with more input when it has none.
  int step() {
    if (z.avail_in == 0 && left > 0) {
      const size_t n = static_cast<size_t>(std::min<uint64_t>(left, input.size()));
      zip->file.read(offset, {reinterpret_cast<uint8_t*>(input.data()), n});
      offset += n;
      left -= n;
      z.next_in = reinterpret_cast<Bytef*>(input.data());
      z.avail_in = static_cast<uInt>(n);
    }
    const int status = inflate(&z, Z_NO_FLUSH);
    if (status == Z_BUF_ERROR) fail("ends too early: its compressed data is cut off");
    if (status != Z_OK && status != Z_STREAM_END) {
      fail(std::string("holds damaged data: ") + (z.msg ? z.msg : "inflate failed"));
    }
    return status;
  }

  void finish() {
    if (inflating) {
      char extra = 0;
      z.next_out = reinterpret_cast<Bytef*>(&extra);
      z.avail_out = 1;
      while (step() != Z_STREAM_END && z.avail_out > 0) {
      }
      if (z.avail_out == 0) fail("is longer than its directory says");
      if (z.avail_in > 0 || left > 0) fail("has data after its end");
    }
    if (crc != entry.crc) fail("is damaged: its CRC-32 does not match");
  }

  Shared<const ZipReader::State> zip;
  ZipEntry entry;
  uint64_t remaining;
  uint64_t offset = 0;  // of the next byte to be taken from the file
  uint64_t left = 0;    // bytes of the entry not yet taken
  uint32_t crc = 0;
  bool inflating = false;
  z_stream z = {};
  std::vector<char> input;
};

ZipStream::ZipStream(std::unique_ptr<State> state) : state_{std::move(state)} {
  if (state_->remaining == 0) state_->finish();
}
ZipStream::ZipStream(ZipStream&&) noexcept = default;
ZipStream& ZipStream::operator=(ZipStream&&) noexcept = default;
ZipStream::~ZipStream() = default;

void ZipStream::read(void* data, size_t size) {
  State& s = *state_;
  if (size > s.remaining) {
    s.fail("ends too early: " + std::to_string(size) + " bytes expected, " + std::to_string(s.remaining) + " left");
  }
  if (size == 0) return;
  char* out = static_cast<char*>(data);
  while (size > 0) {
    const size_t n = std::min(size, kInflateChunk);
    s.read_some(out, n);
    s.crc = crc32_of(out, n, s.crc);
    out += n;
    size -= n;
    s.remaining -= n;
  }
  if (s.remaining == 0) s.finish();
}

uint64_t ZipStream::remaining() const noexcept { return state_->remaining; }
std::string ZipStream::describe() const { return state_->zip->file.path() + ": entry '" + state_->entry.name + "'"; }
const ZipEntry& ZipStream::entry() const noexcept { return state_->entry; }

ZipReader::ZipReader(const std::string& path) : state_{std::make_shared<const State>(path)} {}
const std::string& ZipReader::path() const noexcept { return state_->file.path(); }
const std::vector<ZipEntry>& ZipReader::entries() const noexcept { return state_->entries; }

const ZipEntry* ZipReader::find(std::string_view name) const {
  const auto found = state_->by_name.find(name);
  return found == state_->by_name.end() ? nullptr : found->second;
}

void ZipReader::check_headers() const {
  for (const ZipEntry& e : entries()) {
    const ZipStream::State checked(state_, e, false);
  }
}

ZipStream ZipReader::open(const ZipEntry& entry) const {
  return ZipStream(std::make_unique<ZipStream::State>(state_, entry));
}

std::string ZipReader::read(std::string_view name) const {
  const ZipEntry* entry = find(name);
  if (!entry) throw KeyError("zip: " + path() + " has no entry '" + std::string(name) + "'");
  ZipStream stream = open(*entry);
  std::string content(stream.remaining(), '\0');
  stream.read(content.data(), content.size());
  return content;
}

}  // namespace kusari::serializers
