#pragma once

#include <span>

#include "kusari/framework/onnx/operators/node_reader.h"

// The operators that are supported, by family.
namespace kusari::onnx {

std::span<const Operator> activation_operators();
std::span<const Operator> math_operators();
std::span<const Operator> comparison_operators();
std::span<const Operator> product_operators();
std::span<const Operator> reduction_operators();
std::span<const Operator> shape_operators();
std::span<const Operator> array_operators();
std::span<const Operator> index_operators();
std::span<const Operator> cast_operators();
std::span<const Operator> convolution_operators();
std::span<const Operator> pooling_operators();
std::span<const Operator> normalization_operators();
std::span<const Operator> image_operators();
std::span<const Operator> recurrent_operators();
std::span<const Operator> attention_operators();
std::span<const Operator> quantization_operators();
std::span<const Operator> loss_operators();
std::span<const Operator> signal_operators();
std::span<const Operator> detection_operators();
std::span<const Operator> random_operators();
std::span<const Operator> control_operators();
std::span<const Operator> sequence_operators();
std::span<const Operator> vectorizer_operators();

// Of the domain com.microsoft, ONNX Runtime's.
std::span<const Operator> microsoft_operators();
std::span<const Operator> microsoft_attention_operators();
std::span<const Operator> microsoft_group_attention_operators();
std::span<const Operator> microsoft_block_operators();
std::span<const Operator> microsoft_image_operators();
std::span<const Operator> microsoft_quantization_operators();
std::span<const Operator> microsoft_recurrent_operators();

}  // namespace kusari::onnx
