#include <algorithm>
#include <set>

#include <zlib.h>

#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/zip.h"
#include "kusari/framework/serializers/zip_format.h"

namespace kusari::serializers {
namespace zf = zip_format;
namespace {

constexpr uint16_t kDosDate = 1 << 5 | 1;             // 1980-01-01, the first day the format knows
constexpr uint16_t kMadeBy = 3 << 8 | 20;             // Unix, version 2.0
constexpr uint32_t kUnixMode = uint32_t{0600} << 16;  // as Python's zipfile writes
constexpr size_t kWriteChunk = size_t{1} << 16;
constexpr size_t kDeflateChunk = size_t{1} << 30;  // zlib counts in 32 bits

uint32_t clamp32(uint64_t value) { return value >= zf::kMax32 ? zf::kMax32 : static_cast<uint32_t>(value); }

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
}

}  // namespace

struct ZipWriter::State {
  State(AtomicFile& target, int deflate_level) : file{target}, level{deflate_level} {}
  ~State() {
    if (deflating) deflateEnd(&z);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// zip64 holds 20 more bytes per header: written only when the sizes might need it.
  static bool needs_zip64(const ZipEntry& e) { return e.size + e.size / 512 + 1024 >= zf::kMax32; }

  std::string local_header(const ZipEntry& e) const {
    const bool zip64 = needs_zip64(e);
    std::string h;
    zf::store(h, zf::kLocalHeader, 4);
    zf::store(h, zip64 ? 45 : 20, 2);
    zf::store(h, e.flags, 2);
    zf::store(h, e.method, 2);
    zf::store(h, 0, 2);
    zf::store(h, kDosDate, 2);
    zf::store(h, e.crc, 4);
    zf::store(h, zip64 ? zf::kMax32 : e.compressed_size, 4);
    zf::store(h, zip64 ? zf::kMax32 : e.size, 4);
    zf::store(h, e.name.size(), 2);
    zf::store(h, zip64 ? 20 : 0, 2);
    h += e.name;
    if (zip64) {
      zf::store(h, zf::kZip64Extra, 2);
      zf::store(h, 16, 2);
      zf::store(h, e.size, 8);
      zf::store(h, e.compressed_size, 8);
    }
    return h;
  }

  std::string central_header(const ZipEntry& e) const {
    std::string extra;
    for (uint64_t value : {e.size, e.compressed_size, e.offset}) {
      if (value >= zf::kMax32) zf::store(extra, value, 8);
    }
    std::string h;
    zf::store(h, zf::kCentralHeader, 4);
    zf::store(h, kMadeBy, 2);
    zf::store(h, extra.empty() ? 20 : 45, 2);
    zf::store(h, e.flags, 2);
    zf::store(h, e.method, 2);
    zf::store(h, 0, 2);
    zf::store(h, kDosDate, 2);
    zf::store(h, e.crc, 4);
    zf::store(h, clamp32(e.compressed_size), 4);
    zf::store(h, clamp32(e.size), 4);
    zf::store(h, e.name.size(), 2);
    zf::store(h, extra.empty() ? 0 : extra.size() + 4, 2);
    zf::store(h, 0, 2);  // comment
    zf::store(h, 0, 2);  // disk
    zf::store(h, 0, 2);  // internal attributes
    zf::store(h, kUnixMode, 4);
    zf::store(h, clamp32(e.offset), 4);
    h += e.name;
    if (!extra.empty()) {
      zf::store(h, zf::kZip64Extra, 2);
      zf::store(h, extra.size(), 2);
      h += extra;
    }
    return h;
  }

  void start_deflate() {
    if (!deflating) {
      const int strategy = level == 0 ? Z_RLE : Z_DEFAULT_STRATEGY;
      if (deflateInit2(&z, std::max(level, 1), Z_DEFLATED, -MAX_WBITS, 8, strategy) != Z_OK) {
        throw OutOfMemoryError("ZipWriter: zlib has no memory to deflate");
      }
      deflating = true;
    } else {
      deflateReset(&z);
    }
  }

  void deflate_to_file(int flush) {
    int status = Z_OK;
    do {
      z.next_out = output;
      z.avail_out = sizeof(output);
      status = deflate(&z, flush);
      const size_t n = sizeof(output) - z.avail_out;
      file.write(output, n);
      entries.back().compressed_size += n;
    } while (z.avail_out == 0 || (flush == Z_FINISH && status != Z_STREAM_END));
  }

  AtomicFile& file;
  int level;
  bool open = false;
  bool finished = false;
  bool deflating = false;
  uint64_t remaining = 0;
  std::vector<ZipEntry> entries;
  std::set<std::string> names;
  z_stream z = {};
  Bytef output[kWriteChunk];
};

ZipWriter::ZipWriter(AtomicFile& file, int level) : state_{std::make_unique<State>(file, level)} {
  if (level < 0 || level > 9) throw ValueError("ZipWriter: level is " + std::to_string(level) + ": it must be 0 .. 9");
}
ZipWriter::~ZipWriter() = default;

void ZipWriter::begin(const std::string& name, uint64_t size, ZipMethod method) {
  State& s = *state_;
  if (s.open) throw StateError("ZipWriter: begin('" + name + "') before end() of '" + s.entries.back().name + "'");
  if (s.finished) throw StateError("ZipWriter: begin('" + name + "') after finish()");
  if (name.empty() || name.size() > zf::kMax16) {
    throw ValueError("ZipWriter: a name has " + std::to_string(name.size()) + " bytes: it must have 1 .. 65535");
  }
  if (!s.names.insert(name).second) throw ValueError("ZipWriter: an entry '" + name + "' exists already");
  ZipEntry& e = s.entries.emplace_back();
  e.name = name;
  e.size = size;
  e.offset = s.file.size();
  e.method = static_cast<uint16_t>(method);
  e.flags = is_ascii(name) ? 0 : zf::kFlagUtf8;
  s.remaining = size;
  s.open = true;
  if (method == ZipMethod::deflated) s.start_deflate();
  s.file.write(s.local_header(e));
}

void ZipWriter::write(const void* data, size_t size) {
  State& s = *state_;
  if (!s.open) throw StateError("ZipWriter: write() outside of an entry");
  ZipEntry& e = s.entries.back();
  if (size > s.remaining) {
    throw StateError("ZipWriter: entry '" + e.name + "' has " + std::to_string(e.size) +
                     " bytes: " + std::to_string(size - s.remaining) + " too many are written");
  }
  s.remaining -= size;
  const Bytef* bytes = static_cast<const Bytef*>(data);
  e.crc = static_cast<uint32_t>(crc32_z(e.crc, bytes, size));
  if (e.method == static_cast<uint16_t>(ZipMethod::stored)) {
    s.file.write(data, size);
    e.compressed_size += size;
    return;
  }
  while (size > 0) {
    const size_t n = std::min(size, kDeflateChunk);
    s.z.next_in = const_cast<Bytef*>(bytes);  // zlib's interface; it does not write there
    s.z.avail_in = static_cast<uInt>(n);
    s.deflate_to_file(Z_NO_FLUSH);
    bytes += n;
    size -= n;
  }
}

void ZipWriter::end() {
  State& s = *state_;
  if (!s.open) throw StateError("ZipWriter: end() outside of an entry");
  const ZipEntry& e = s.entries.back();
  if (s.remaining != 0) {
    throw StateError("ZipWriter: entry '" + e.name + "' lacks " + std::to_string(s.remaining) + " of its " +
                     std::to_string(e.size) + " bytes");
  }
  if (e.method == static_cast<uint16_t>(ZipMethod::deflated)) {
    s.z.avail_in = 0;
    s.deflate_to_file(Z_FINISH);
  }
  const std::string header = s.local_header(e);  // CRC and compressed size are known now
  s.file.overwrite(e.offset, header.data(), header.size());
  s.open = false;
}

void ZipWriter::add(const std::string& name, std::string_view content, ZipMethod method) {
  begin(name, content.size(), method);
  write(content.data(), content.size());
  end();
}

void ZipWriter::finish() {
  State& s = *state_;
  if (s.open) throw StateError("ZipWriter: finish() before end() of '" + s.entries.back().name + "'");
  if (s.finished) throw StateError("ZipWriter: finish() called twice");
  s.finished = true;
  const uint64_t offset = s.file.size(), count = s.entries.size();
  for (const ZipEntry& e : s.entries) s.file.write(s.central_header(e));
  const uint64_t end = s.file.size(), size = end - offset;
  std::string tail;
  if (count >= zf::kMax16 || size >= zf::kMax32 || offset >= zf::kMax32) {
    zf::store(tail, zf::kZip64EndOfDirectory, 4);
    zf::store(tail, zf::kZip64EndOfDirectorySize - 12, 8);
    zf::store(tail, 3 << 8 | 45, 2);
    zf::store(tail, 45, 2);
    zf::store(tail, 0, 8);  // disks
    zf::store(tail, count, 8);
    zf::store(tail, count, 8);
    zf::store(tail, size, 8);
    zf::store(tail, offset, 8);
    zf::store(tail, zf::kZip64Locator, 4);
    zf::store(tail, 0, 4);
    zf::store(tail, end, 8);
    zf::store(tail, 1, 4);
  }
  const uint64_t count16 = std::min<uint64_t>(count, zf::kMax16);
  zf::store(tail, zf::kEndOfDirectory, 4);
  zf::store(tail, 0, 4);  // disks
  zf::store(tail, count16, 2);
  zf::store(tail, count16, 2);
  zf::store(tail, clamp32(size), 4);
  zf::store(tail, clamp32(offset), 4);
  zf::store(tail, 0, 2);  // comment
  s.file.write(tail);
}

}  // namespace kusari::serializers
