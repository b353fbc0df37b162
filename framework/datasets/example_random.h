#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/core/random.h"

namespace kusari::datasets {

/// The random numbers of one example in one sweep: a stream that (seed, epoch, index) determine, so that augmentation
/// does not depend on which worker prepares an example, nor on the order. Transforms take one by reference and draw
/// from it; an object belongs to one thread. Source: Salmon et al. 2011 (Philox4x32-10), keyed once per example.
class KUSARI_API ExampleRandom {
 public:
  explicit ExampleRandom(uint64_t seed, int64_t epoch = 0, int64_t index = 0);

  /// 64 random bits.
  uint64_t bits();
  /// Uniform in [low, high).
  double uniform(double low = 0.0, double high = 1.0);
  /// Uniform among 0 .. n - 1. Throws ValueError for n < 1.
  int64_t integer(int64_t n);
  /// Normally distributed (Box and Muller 1958).
  double normal(double mean = 0.0, double deviation = 1.0);
  /// True with this probability.
  bool chance(double probability) { return uniform() < probability; }

 private:
  uint64_t key_;
  uint64_t place_ = 0;  // in pairs of words
  PhiloxBlock block_;
};

/// An iterator opens one around every get(): while it lives, TransformDatasets of this thread draw no seed of their own
/// but give example `index` the numbers of ExampleRandom(seed, epoch, index). Further ones, when transformed data sets
/// are transformed again, and examples that have another index in their own data set than the scope's (those of
/// concatenated data sets), get independent numbers that follow from all of these. Whatever else draws in this thread
/// (kusari::random, functions) has a LocalStream that (seed, epoch, index) determine.
class KUSARI_API ExampleRandomScope {
 public:
  ExampleRandomScope(uint64_t seed, int64_t epoch, int64_t index = 0) noexcept;
  ExampleRandomScope(const ExampleRandomScope&) = delete;
  ExampleRandomScope& operator=(const ExampleRandomScope&) = delete;
  ~ExampleRandomScope();

  /// The next stream for example `index` in the innermost scope of this thread; without a scope, one from a seed that
  /// the process's random stream gives.
  static ExampleRandom stream(int64_t index);

 private:
  uint64_t seed_;
  int64_t epoch_, index_;
  uint64_t streams_ = 0;  // given so far
  random::LocalStream local_;
  ExampleRandomScope* outer_;
};

}  // namespace kusari::datasets
