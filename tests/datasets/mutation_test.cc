// Readers of data sets meet files that were changed at random: each gives its content or an error that names the file,
// soon and in bounded memory. KUSARI_FUZZ_ITERATIONS sets how many files (4800 by default), KUSARI_FUZZ_SEED which.

#include "kusari/tests/datasets/mutation.h"

#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <zlib.h>

#include "kusari/framework/datasets/example_file.h"
#include "kusari/framework/datasets/idx.h"
#include "kusari/framework/datasets/image/cifar.h"
#include "kusari/framework/datasets/image/decode.h"
#include "kusari/framework/datasets/mat_file.h"
#include "kusari/framework/datasets/tar.h"
#include "kusari/framework/datasets/text/corpus.h"
#include "kusari/framework/datasets/text/text_array.h"
#include "kusari/framework/datasets/text/text_dataset.h"
#include "kusari/tests/scratch_directory.h"

using namespace kusari;
using namespace kusari::datasets;
using namespace kusari::testing;

namespace {

enum class Kind { idx, cifar, examples, mat, tar, text, image };
constexpr Kind kKinds[] = {Kind::idx, Kind::cifar, Kind::examples, Kind::mat, Kind::tar, Kind::text, Kind::image};

constexpr long kMostMemory =
    1 << 20;  // KiB that the process may grow by: files are small, but CIFAR is read in threads

std::string little_endian(uint64_t value, size_t size) { return {reinterpret_cast<const char*>(&value), size}; }

Bytes noise(Random& random, size_t size) {
  Bytes bytes(size);
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(below(random, 256));
  return bytes;
}

std::vector<Bytes> make_idx(Random& random) {
  std::vector<Bytes> files;
  struct Type {
    uint8_t code, size;
  };
  for (const Type& type : {Type{8, 1}, {9, 1}, {11, 2}, {12, 4}, {13, 4}, {14, 8}}) {
    Bytes bytes = {0, 0, type.code, 3, 0, 0, 0, 5, 0, 0, 0, 4, 0, 0, 0, 3};
    const Bytes values = noise(random, size_t{60} * type.size);
    bytes.insert(bytes.end(), values.begin(), values.end());
    files.push_back(bytes);
    files.push_back(as_bytes(gzip(as_string(bytes))));
  }
  return files;
}

std::vector<Bytes> make_cifar(Random& random) {
  Bytes records;
  for (uint8_t label = 0; label < 2; ++label) {
    records.push_back(label);
    const Bytes pixels = noise(random, 3072);
    records.insert(records.end(), pixels.begin(), pixels.end());
  }
  return {records, as_bytes(gzip(as_string(records)))};
}

std::vector<Bytes> make_examples() {
  const ScratchDirectory dir;
  std::vector<Bytes> files;
  for (const Keys& keys : {Keys{}, Keys{"x", "name"}}) {
    ExampleFileWriter writer(dir / "file", {.keys = keys});
    for (int64_t i = 0; i < 6; ++i) {
      writer.write(
          {arange(12, Dtype::float32).reshape({2, 2, 3}), text_array(std::string(static_cast<size_t>(i), 'a'))});
    }
    writer.close();
    files.push_back(as_bytes(read_file(dir / "file")));
  }
  return files;
}

/// A MATLAB file with a matrix of doubles, once compressed and once not.
std::vector<Bytes> make_mat(Random& random) {
  const auto element = [](uint32_t type, const std::string& data) {
    std::string result = little_endian(type, 4) + little_endian(data.size(), 4) + data;
    result.resize((result.size() + 7) / 8 * 8);
    return result;
  };
  const std::string matrix =
      element(14, element(6, little_endian(6, 8)) + element(5, little_endian(3, 4) + little_endian(7, 4)) +
                      element(1, "weights") + element(9, as_string(noise(random, 21 * 8))));
  std::string header = "MATLAB 5.0 MAT-file";
  header.resize(124, ' ');
  header += std::string("\0\1IM", 4);
  std::string zipped(compressBound(matrix.size()), '\0');
  uLongf size = zipped.size();
  compress(reinterpret_cast<Bytef*>(zipped.data()), &size, reinterpret_cast<const Bytef*>(matrix.data()),
           matrix.size());
  return {as_bytes(header + matrix),
          as_bytes(header + matrix + little_endian(15, 4) + little_endian(size, 4) + zipped.substr(0, size))};
}

std::vector<Bytes> make_tar(Random& random) {
  const std::string content =
      tar_member("a/", "", '5') + tar_member("a/one", as_string(noise(random, 700))) +
      tar_member("@LongLink", "a/" + std::string(150, 'x'), 'L') + tar_member("short", as_string(noise(random, 10))) +
      tar_member("PaxHeader", "22 path=pax/long/name\n", 'x') + tar_member("name", "abc") + tar_end();
  return {as_bytes(content), as_bytes(gzip(content))};
}

std::vector<Bytes> make_text() {
  const std::string text = "the first line\nzweite Zeile: äöü\n\n三行目\r\nthe last";
  return {as_bytes(text), as_bytes(gzip(text))};
}

std::vector<Bytes> make_images([[maybe_unused]] Random& random) {
  std::vector<Bytes> files;
#ifdef KUSARI_WITH_JPEG
  for (const bool progressive : {false, true}) {
    files.push_back(
        encode_jpeg({.width = 9, .height = 8, .quality = 60, .progressive = progressive}, noise(random, 3 * 9 * 8)));
  }
#endif
#ifdef KUSARI_WITH_PNG
  for (const bool interlaced : {false, true}) {
    files.push_back(
        encode_png({.width = 9, .height = 8, .color_type = PNG_COLOR_TYPE_GRAY, .depth = 8, .interlaced = interlaced},
                   std::vector<uint16_t>(9 * 8, 77)));
  }
#endif
  return files;
}

template <class T>
T number_at(const Bytes& bytes, size_t at) {
  T value = 0;
  std::memcpy(&value, &bytes[at], sizeof(value));
  return value;
}

void put_crc(Bytes& bytes, size_t begin, size_t end, size_t at) {
  const auto crc = static_cast<uint32_t>(crc32(0, bytes.data() + begin, static_cast<uInt>(end - begin)));
  std::memcpy(&bytes[at], &crc, sizeof(crc));
}

/// Makes the CRCs of records and index right again, as far as they can be found, so that changes get past them.
void repair_examples(Bytes& bytes) {
  constexpr size_t kTrailer = 28, kRecordHeader = 12;
  if (bytes.size() < 20 + kTrailer) return;
  const size_t trailer = bytes.size() - kTrailer;
  const auto index = number_at<uint64_t>(bytes, trailer + 8);
  if (index > trailer) return;
  for (size_t at = static_cast<size_t>(index); at + 8 <= trailer; at += 8) {
    const auto record = number_at<uint64_t>(bytes, at);
    if (record > trailer - kRecordHeader || trailer < kRecordHeader) continue;
    const auto size = number_at<uint64_t>(bytes, static_cast<size_t>(record));
    const size_t begin = static_cast<size_t>(record) + kRecordHeader;
    if (size <= trailer - begin) put_crc(bytes, begin, begin + static_cast<size_t>(size), begin - 4);
  }
  put_crc(bytes, static_cast<size_t>(index), trailer + 16, trailer + 16);
}

void read_mutant(Kind kind, const Bytes& bytes, const ScratchDirectory& dir, Outcome& outcome) {
  if (kind == Kind::image) {
    attempt(outcome, "mutant", [&] { decode_image(bytes, {.max_pixels = 1 << 20}, "mutant"); });
    return;
  }
  const std::string path = dir / "mutant";
  write_file(path, as_string(bytes));
  switch (kind) {
    case Kind::idx:
      attempt(outcome, path, [&] { read_idx(path); });
      break;
    case Kind::cifar:
      attempt(outcome, path, [&] { read_cifar10(path, {.dtype = Dtype::uint8}); });
      attempt(outcome, path, [&] { read_cifar100(path, {.dtype = Dtype::uint8}); });
      break;
    case Kind::examples:
      attempt(outcome, path, [&] {
        const ExampleFileDataset dataset(path);
        for (int64_t i = 0; i < dataset.size(); ++i) attempt(outcome, path, [&] { dataset.get(i); });
      });
      write_file(path + ".part", as_string(bytes));
      attempt(outcome, path, [&] { ExampleFileWriter(path, {.keys = {"x", "name"}, .resume = true}); });
      break;
    case Kind::mat:
      attempt(outcome, path, [&] { read_mat(path); });
      break;
    case Kind::tar:
      attempt(outcome, path, [&] {
        const TarArchive archive(path);
        std::vector<uint8_t> buffer;
        for (size_t i = 0; i < archive.entries().size(); ++i) attempt(outcome, path, [&] { archive.read(i, buffer); });
      });
      break;
    default:
      attempt(outcome, path, [&] { read_characters(path); });
      attempt(outcome, path, [&] { read_word_corpus({path}); });
      attempt(outcome, path, [&] {
        const TextDataset dataset(path);
        for (int64_t i = 0; i < dataset.size(); ++i) dataset.get(i);
      });
  }
}

long peak_memory() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

}  // namespace

TEST_CASE("readers of data sets survive files changed at random") {
  const int64_t iterations = number_from_environment("KUSARI_FUZZ_ITERATIONS", 4800);
  const int64_t seed = number_from_environment("KUSARI_FUZZ_SEED", 1);
  const ScratchDirectory dir;
  Random maker(5);
  std::map<Kind, std::vector<Bytes>> originals;
  originals[Kind::idx] = make_idx(maker);
  originals[Kind::cifar] = make_cifar(maker);
  originals[Kind::examples] = make_examples();
  originals[Kind::mat] = make_mat(maker);
  originals[Kind::tar] = make_tar(maker);
  originals[Kind::text] = make_text();
  originals[Kind::image] = make_images(maker);

  for (const auto& [kind, files] : originals) {  // unchanged, all can be read
    for (const Bytes& bytes : files) {
      Outcome outcome;
      read_mutant(kind, bytes, dir, outcome);
      CAPTURE(static_cast<int>(kind));
      CHECK(outcome.read >= 1);
      CHECK(outcome.wrong == "");
    }
  }

  const long memory = peak_memory();
  Watchdog watchdog;
  std::map<Kind, Outcome> totals;
  double slowest = 0;
  for (int64_t i = 0; i < iterations; ++i) {
    Random random(static_cast<uint64_t>(seed) << 32 | static_cast<uint64_t>(i));
    const Kind kind = kKinds[below(random, std::size(kKinds))];
    const std::vector<Bytes>& files = originals[kind];
    if (files.empty()) continue;  // no codec in this build
    Bytes bytes = files[below(random, files.size())];
    const Bytes& other = files[below(random, files.size())];
    const bool zipped = bytes.size() > 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
    const bool inside = zipped && chance(random, 50);  // of the gzip file
    if (inside) bytes = gunzip_or_same(bytes);
    const size_t changes = 1 + below(random, 4);
    for (size_t n = 0; n < changes; ++n) change(random, bytes, other);
    if (kind == Kind::examples && chance(random, 60)) repair_examples(bytes);
    if (inside) bytes = as_bytes(gzip(as_string(bytes)));

    CAPTURE(i);
    CAPTURE(static_cast<int>(kind));
    watchdog.step(i);
    const Clock::time_point start = Clock::now();
    Outcome outcome;
    read_mutant(kind, bytes, dir, outcome);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    CHECK(outcome.wrong == "");
    CHECK(seconds < kSlow);
    slowest = std::max(slowest, seconds);
    totals[kind].read += outcome.read;
    totals[kind].errors += outcome.errors;
  }
  CHECK(peak_memory() - memory < kMostMemory);
  for (const auto& [kind, total] : totals) {
    MESSAGE("kind " << static_cast<int>(kind) << ": " << total.read << " readings gave something, " << total.errors
                    << " a named error");
    if (iterations < 1000) continue;
    CHECK(total.read > iterations / 400);
    CHECK(total.errors > iterations / 400);
  }
  MESSAGE(iterations << " files; the slowest took " << slowest << " s");
}
