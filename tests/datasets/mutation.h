#pragma once

// Files changed at random, for the tests of readers: each must give its content or an error that names the file, soon.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "kusari/framework/core/error.h"
#include "kusari/tests/datasets/image/codecs.h"

namespace kusari::testing {

using Random = std::mt19937_64;
using Clock = std::chrono::steady_clock;

inline constexpr double kSlow = 10;  // seconds that no file may take, even under sanitizers
inline constexpr double kHang = 60;  // seconds after which a reader is taken to hang
inline size_t below(Random& random, size_t n) { return n == 0 ? 0 : static_cast<size_t>(random() % n); }
inline bool chance(Random& random, int percent) { return below(random, 100) < static_cast<size_t>(percent); }

/// Ends the program, saying where it was, when a step takes longer than kHang.
class Watchdog {
 public:
  Watchdog() : thread_([this] { watch(); }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  void step(int64_t number) {
    const std::lock_guard lock(mutex_);
    number_ = number;
    start_ = Clock::now();
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::seconds(1), [this] { return done_; })) {
      if (Clock::now() - start_ < std::chrono::duration<double>(kHang)) continue;
      std::fprintf(stderr, "file %lld: the reader hangs\n", static_cast<long long>(number_));
      std::abort();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  int64_t number_ = 0;
  Clock::time_point start_ = Clock::now();
  std::thread thread_;
};

/// One change. Headers are where most harm can be done: they get half of them.
inline void change(Random& random, Bytes& bytes, const Bytes& other) {
  if (bytes.empty()) return;
  const size_t reach = chance(random, 50) ? std::min<size_t>(bytes.size(), 700) : bytes.size();
  const size_t at = below(random, reach), length = 1 + below(random, std::min<size_t>(bytes.size() - at, 64));
  const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  switch (below(random, 8)) {
    case 0:  // cut off
      bytes.resize(at);
      break;
    case 1:
    case 2:
      bytes[at] ^= static_cast<uint8_t>(1 << below(random, 8));
      break;
    case 3: {
      constexpr uint8_t kValues[] = {0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF, '0', '7'};
      std::fill_n(place, chance(random, 50) ? 1 : std::min<size_t>(length, 4), kValues[below(random, 8)]);
      break;
    }
    case 4:  // a piece lost
      bytes.erase(place, place + static_cast<std::ptrdiff_t>(length));
      break;
    case 5: {  // a piece twice
      const Bytes piece(place, place + static_cast<std::ptrdiff_t>(length));
      bytes.insert(place, piece.begin(), piece.end());
      break;
    }
    case 6: {  // a piece of another file over it
      if (other.empty()) break;
      const size_t from = below(random, other.size());
      const size_t count = std::min({1 + below(random, 600), other.size() - from, bytes.size() - at});
      std::copy_n(other.begin() + static_cast<std::ptrdiff_t>(from), count, place);
      break;
    }
    default: {  // and in between: the head of one file, the tail of another
      const size_t from = below(random, other.size());
      bytes.resize(at);
      bytes.insert(bytes.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
    }
  }
}

inline Bytes gunzip_or_same(const Bytes& bytes) {
  if (bytes.size() < 2 || bytes[0] != 0x1f || bytes[1] != 0x8b) return bytes;
  Bytes out(1 << 20);
  z_stream z = {};
  inflateInit2(&z, 16 + MAX_WBITS);
  z.next_in = const_cast<Bytef*>(bytes.data());
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = out.data();
  z.avail_out = static_cast<uInt>(out.size());
  inflate(&z, Z_FINISH);
  out.resize(z.total_out);
  inflateEnd(&z);
  return out;
}

struct Outcome {
  int64_t read = 0;    // images or entries that came out
  int64_t errors = 0;  // IoErrors that name the file
  std::string wrong;   // anything else
};

/// Calls, and takes account of what it throws. `name` must be in the text.
template <class Call>
void attempt(Outcome& outcome, const std::string& name, Call call) {
  try {
    call();
    ++outcome.read;
  } catch (const IoError& error) {
    ++outcome.errors;
    if (std::string(error.what()).find(name) == std::string::npos) outcome.wrong = error.what();
  } catch (const ValueError& error) {  // an archive that is whole, but has other files than a data set needs
    ++outcome.errors;
    if (std::string(error.what()).find(name) == std::string::npos) outcome.wrong = error.what();
  } catch (const std::exception& error) {
    outcome.wrong = error.what();
  }
}

inline int64_t number_from_environment(const char* name, int64_t otherwise) {
  const char* const text = std::getenv(name);
  return text && *text ? std::atoll(text) : otherwise;
}

}  // namespace kusari::testing
