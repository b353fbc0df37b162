#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/serializers/safetensors.h"
#include "kusari/tests/scratch_directory.h"

// Files that are damaged at random: each is read, or refused by a typed error, within the memory that its size
// explains.
using namespace kusari;
using namespace kusari::serializers;
using kusari::testing::read_file;
using kusari::testing::ScratchDirectory;
using kusari::testing::write_file;

namespace {

constexpr int kMutants = 3000;

/// xorshift64*: the same damage on every machine.
class Generator {
 public:
  explicit Generator(uint64_t seed) : state_{seed} {}
  uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1DULL;
  }
  size_t below(size_t n) { return n == 0 ? 0 : next() % n; }

 private:
  uint64_t state_;
};

std::string mutate(std::string file, Generator& random) {
  const size_t times = 1 + random.below(4);
  for (size_t i = 0; i < times; ++i) {
    const size_t at = random.below(file.size());
    const size_t length = 1 + random.below(16);
    switch (random.below(8)) {
      case 0:  // a bit
        if (!file.empty()) file[at] = static_cast<char>(file[at] ^ (1 << random.below(8)));
        break;
      case 1:  // a byte
        if (!file.empty()) file[at] = static_cast<char>(random.next());
        break;
      case 2:
        file.resize(at);
        break;
      case 3:
        file.erase(at, length);
        break;
      case 4:
        file.insert(at, file.substr(random.below(file.size()), length));
        break;
      case 5: {  // a size or an offset becomes extreme
        constexpr uint64_t kExtremes[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, ~uint64_t{0}};
        const uint64_t value = kExtremes[random.below(std::size(kExtremes))];
        const size_t width = size_t{1} << random.below(4);
        if (at + width <= file.size()) std::memcpy(file.data() + at, &value, width);
        break;
      }
      case 6: {  // a digit of the header becomes another, or a large number
        const size_t digit = file.find_first_of("0123456789", at);
        if (digit == file.npos) break;
        if (random.below(2) == 0) {
          file[digit] = static_cast<char>('0' + random.below(10));
        } else {
          file.insert(digit, "999999999999999999", 1 + random.below(18));
        }
        break;
      }
      default:
        for (size_t k = at; k < std::min(file.size(), at + length); ++k) file[k] = static_cast<char>(random.next());
        break;
    }
  }
  return file;
}

int64_t peak_kilobytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// Reads mutants of the file at `path` with `read`; returns how many could be read.
template <class Read>
int check_mutants(const ScratchDirectory& dir, const std::string& original, uint64_t seed, const Read& read) {
  Generator random(seed);
  const std::string path = dir / "mutant";
  int readable = 0;
  const int64_t before = peak_kilobytes();
  for (int i = 0; i < kMutants; ++i) {
    write_file(path, mutate(original, random));
    const auto start = std::chrono::steady_clock::now();
    try {
      read(path);
      ++readable;
    } catch (const Error& error) {
      // What a caller is told: which file, and what is wrong with it.
      if (std::string(error.what()).find(path) == std::string::npos) FAIL_CHECK(i << ": " << error.what());
    } catch (const std::exception& error) {
      FAIL_CHECK(i << ": not one of the library's errors: " << error.what());
    }
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(10)) FAIL_CHECK(i << ": took seconds");
  }
  CHECK(peak_kilobytes() - before < 256 * 1024);
  CHECK(readable < kMutants);
  return readable;
}

Dictionary entries() {
  Dictionary entries;
  entries.emplace_back("l1/W", Entry{array<float>({1, 2, 3, 4, 5, 6}, {2, 3})});
  entries.emplace_back("l1/b", Entry{array<double>({0.5, -0.5})});
  entries.emplace_back("mask", Entry{array<bool>({true, false})});
  entries.emplace_back("half", Entry{full({3}, 0.25, Dtype::float16)});
  entries.emplace_back("bytes", Entry{array<uint8_t>({1, 2, 3, 4})});
  entries.emplace_back("t", Entry{array<int64_t>({7}, Shape{})});
  entries.emplace_back("none", Entry{});
  entries.emplace_back("log", Entry{Array(), "[{\"epoch\": 1}]", true});
  return entries;
}

void read_npz(const std::string& path) {
  const NpzReader file(path);
  for (const std::string& key : file.keys()) file.value(key);
}

}  // namespace

TEST_CASE("npz: thousands of damaged files") {
  const ScratchDirectory dir;
  for (const bool compression : {false, true}) {
    CAPTURE(compression);
    save_npz_dictionary(dir / "original", entries(), {.compression = compression});
    check_mutants(dir, read_file(dir / "original"), 7 + compression, read_npz);
  }
}

TEST_CASE("safetensors: thousands of damaged files") {
  const ScratchDirectory dir;
  save_safetensors_dictionary(dir / "original", entries(), {.metadata = {{"format", "pt"}}});
  const auto read = [](const std::string& path) {
    const SafetensorsReader file(path);
    for (const std::string& key : file.keys()) file.value(key);
    for (const char* key : {"none", "log"}) {
      if (file.contains(key)) file.value(key);
    }
  };
  // Some mutants differ in data alone.
  CHECK(check_mutants(dir, read_file(dir / "original"), 11, read) > 0);
}
