#pragma once

#include <cstddef>
#include <span>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"

namespace kusari::datasets {

/// Declares that the rows of `whole` (its first axis) are the examples of a batch: who stacks them again may take
/// `whole` itself. Returns `whole`. For memory that nobody reads as anything else later: an iterator's own batches, not
/// a data set's arrays. Several arrays in one block of memory may be marked, all before other threads see them. A block
/// in which a kernel keeps something of its own stays unmarked.
KUSARI_API Array mark_collated(Array whole);

/// If component `component` of the examples is, in order, the first rows of one marked array: those rows as a view of
/// it, (batch.size(), ...). Undefined otherwise.
KUSARI_API Array collated(std::span<const Example> batch, size_t component);

}  // namespace kusari::datasets
