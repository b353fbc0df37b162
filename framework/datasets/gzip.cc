#include "kusari/framework/datasets/gzip.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include <zlib.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/reading.h"

namespace kusari::datasets {
namespace {

constexpr size_t kGzipChunk = size_t{1} << 18;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// max_size(content) is the most that may be read, once that can be told from what is there.
template <class MaxSize>
std::string read_file(const std::string& path, const MaxSize& max_size) {
  const auto fail = [&](const std::string& what) { throw IoError("read_maybe_gzip: " + path + " " + what); };
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (!file) fail(std::string("cannot be opened: ") + std::strerror(errno));

  z_stream z = {};
  struct End {
    z_stream& z;
    bool active = false;
    ~End() {
      if (active) inflateEnd(&z);
    }
  } end{z};
  std::string input(kGzipChunk, '\0'), content;
  bool first = true, plain = false;
  int status = Z_STREAM_END;
  while (true) {
    const size_t n = std::fread(input.data(), 1, input.size(), file.get());
    if (std::ferror(file.get())) fail(std::string("cannot be read: ") + std::strerror(errno));
    if (n == 0) break;
    if (first) {
      plain = n < 2 || input[0] != '\x1f' || input[1] != '\x8b';
      if (!plain) {
        if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK) throw OutOfMemoryError("read_maybe_gzip: zlib has no memory");
        end.active = true;
        status = Z_OK;
      }
      first = false;
    }
    if (plain) {
      content.append(input, 0, n);
      if (const size_t most = max_size(content); content.size() > most) {
        fail("is larger than " + std::to_string(most) + " bytes");
      }
      continue;
    }
    z.next_in = reinterpret_cast<Bytef*>(input.data());
    z.avail_in = static_cast<uInt>(n);
    while (z.avail_in > 0) {
      if (status == Z_STREAM_END) inflateReset(&z);  // gzip files may follow one another
      const size_t before = content.size();
      content.resize(before + kGzipChunk);
      z.next_out = reinterpret_cast<Bytef*>(content.data() + before);
      z.avail_out = static_cast<uInt>(kGzipChunk);
      status = inflate(&z, Z_NO_FLUSH);
      content.resize(before + kGzipChunk - z.avail_out);
      if (status != Z_OK && status != Z_STREAM_END) fail(std::string("is damaged: ") + (z.msg ? z.msg : "not gzip"));
      if (const size_t most = max_size(content); content.size() > most) {
        fail("holds more than " + std::to_string(most) + " bytes");
      }
    }
  }
  if (status != Z_STREAM_END) fail("is cut off: its gzip data does not end");
  return content;
}

}  // namespace

std::string read_maybe_gzip(const std::string& path, size_t max_size) {
  return reading("read_maybe_gzip", path,
                 [&] { return read_file(path, [&](const std::string&) { return max_size; }); });
}

std::string read_maybe_gzip(const std::string& path, size_t head_size,
                            const Callable<size_t(std::string_view head)>& size_of) {
  return reading("read_maybe_gzip", path, [&] {
    std::optional<size_t> max_size;
    return read_file(path, [&](const std::string& content) {
      if (!max_size && content.size() >= head_size) max_size = size_of(std::string_view(content).substr(0, head_size));
      return max_size.value_or(content.size());
    });
  });
}

}  // namespace kusari::datasets
