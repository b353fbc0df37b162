#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kusari/framework/core/collectives.h"
#include "kusari/optimizers/divided_gradients.h"
#include "kusari/optimizers/gradient_bucket.h"
#include "kusari/optimizers/gradient_exchange.h"

// What an exchange knows of a step.
namespace kusari {

/// What each rank tells the others at each step.
struct GradientExchange::Word {
  /// kIsStatic: sent before the forward computation of a step that may be a recorded one. kReplays: and it is there.
  /// kDivides: gradients may be divided among the ranks. kOnDevice: they are there, and may travel from there.
  /// kHasDrawn: the rank has drawn the step's random number.
  enum Flags : uint64_t { kMustShare = 1, kIsStatic = 2, kReplays = 4, kDivides = 8, kOnDevice = 16, kHasDrawn = 32 };

  int64_t step;
  uint64_t history;    // of the group's operations
  uint64_t structure;  // of the parameters: shapes and dtypes
  uint64_t present;    // which of them have gradients; nothing with kIsStatic
  uint64_t settings;
  int64_t examples;  // -1: unknown
  uint64_t flags;
  uint32_t stage;  // with kReplays: see begin_static_step
  uint32_t replicas;
};

/// A step under way.
struct GradientExchange::Step {
  std::shared_ptr<std::vector<Word>> words;
  collectives::TicketPtr ticket;
  int64_t number;
  bool has_words = false;  // they have been waited for
  bool is_static = false;  // all ranks' steps may be recorded ones: all parameters are exchanged
  // With `overlaps`: what is exchanged, and the reserved numbers.
  std::vector<GradientBucket> buckets = {};
  std::vector<int64_t> numbers = {};
  GradientBucket::ScaleOf scale_of = {};
  std::unique_ptr<detail::DividedGradients> divided = nullptr;  // instead of buckets
  size_t started = 0;
  DeviceGroup* on_device = nullptr;  // by which the buckets travel; null: by the group
};

}  // namespace kusari
