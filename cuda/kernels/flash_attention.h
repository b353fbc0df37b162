#pragma once

#include "kusari/framework/core/array.h"
#include "kusari/framework/kernels/attention.h"

// Attention in one kernel, whose scores never leave the registers, and its gradient in two (Dao 2023,
// FlashAttention-2).
namespace kusari::cuda {

/// Of kernels::Attention and its gradient.
struct FlashInputs {
  const kernels::AttentionForm& form;
  const Array &q, &k, &v, &mask, &lengths, &stream;
};

/// Half types without a window that hides a key, widths up to 128 that are multiples of 8 in rows aligned to 16 bytes,
/// on cards that have the instructions, unless fusions() says otherwise or too little of the card would work.
bool takes_flash_attention(const FlashInputs& inputs);

void flash_attention(const FlashInputs& inputs, const Array& y, const Array& lse);
void flash_attention_gradient(const FlashInputs& inputs, const Array& y, const Array& lse, const Array& gy,
                              const Array& gq, const Array& gk, const Array& gv);

}  // namespace kusari::cuda
