#pragma once

#include <span>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"

namespace kusari::datasets {

/// A converter for examples with sequences: `{.converter = datasets::pack_sequences}`. A component with axes, such as
/// the words of a sentence, (length, ...), becomes two arrays: all rows as PackedSequence has them, on the device, and
/// the lengths, int64 of shape (batch), on the host: `PackedSequence::from_lengths(words, lengths.array())`. A
/// component without axes, such as a label, becomes one array as concat_examples makes it. Throws TypeError for
/// examples that do not go together, ValueError for an empty batch.
KUSARI_API Example pack_sequences(std::span<const Example> batch, const Device& device);

}  // namespace kusari::datasets
