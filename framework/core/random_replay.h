#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/kernel.h"

// The same random numbers twice, for what is computed again. Concerns the calling thread alone: that others draw from
// the process's stream meanwhile changes nothing.
namespace kusari::random {

/// A range that was taken off a stream.
struct Draw {
  RandomState state;
  uint64_t count;
};

class DrawReplay;

/// While it lives, what this thread draws is added to a list; but not what a DrawReplay inside of it draws again.
class KUSARI_API DrawRecording {
 public:
  explicit DrawRecording(std::vector<Draw>& draws) noexcept;
  DrawRecording(const DrawRecording&) = delete;
  DrawRecording& operator=(const DrawRecording&) = delete;
  ~DrawRecording();

  /// `source`: where the range came from; null: a stream.
  void add(const Draw& draw, const DrawReplay* source);

 private:
  std::vector<Draw>& draws_;
  const DrawReplay* source_;  // of draws outside of any later DrawReplay
  DrawRecording* outer_;
};

/// While it lives, this thread draws the listed ranges again instead of new ones. `draws` must outlive it.
class KUSARI_API DrawReplay {
 public:
  DrawReplay(std::span<const Draw> draws, const char* call) noexcept;
  DrawReplay(const DrawReplay&) = delete;
  DrawReplay& operator=(const DrawReplay&) = delete;
  ~DrawReplay();

  /// The next range. Throws StateError, naming `call`, when the list has no such range.
  RandomState next(uint64_t count);

 private:
  std::span<const Draw> draws_;
  const char* call_;
  size_t next_ = 0;
  DrawReplay* outer_;
};

/// While it lives, draws are new ones and are added to no list: those of the first numbers of a parameter, which a
/// function that is called again finds there.
class KUSARI_API UnrecordedDraws {
 public:
  UnrecordedDraws() noexcept;
  UnrecordedDraws(const UnrecordedDraws&) = delete;
  UnrecordedDraws& operator=(const UnrecordedDraws&) = delete;
  ~UnrecordedDraws();

 private:
  DrawRecording* recording_;
  DrawReplay* replay_;
};

}  // namespace kusari::random
