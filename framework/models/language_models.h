#pragma once

#include <cstdint>
#include <string>

#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/links/model/transformer_lm.h"

namespace kusari::models {

struct PretrainedOptions {
  Dtype dtype = Dtype::float32;  ///< of the parameters, whatever the file has
  int64_t block = 0;             ///< places that the model will see at most; 0: as many as it was trained for
};

/// A trained GPT-2: a folder with config.json and model.safetensors (or model.safetensors.index.json and its parts), as
/// transformers' save_pretrained writes them. activation_function: "gelu_new", "gelu_pytorch_tanh", "gelu", "relu" or
/// "silu". Scores may be scaled otherwise (scale_attn_weights, scale_attn_by_inverse_layer_idx), which changes the rows
/// of queries in each layer's `attn.qkv`; reorder_and_upcast_attn changes nothing. Dropout is 0. Throws IoError for
/// missing and damaged files, KeyError for missing tensors, TypeError for those of other shapes, ValueError for models
/// that differ from GPT-2.
KUSARI_API L::TransformerLM load_gpt2(const std::string& folder, const PretrainedOptions& options = {});
/// A trained Llama, or a model of that shape, likewise: model_type "llama", "mistral", "qwen2" or "qwen3". Rotation may
/// be scaled (rope_type "linear" or "llama3", in rope_scaling or rope_parameters). Layers attend to windows as
/// transformers' do: all of Mistral, and of Qwen with use_sliding_window those that layer_types or max_window_layers
/// say. In a "llama", whose windows transformers does not know, sliding_window must not be less than the places of a
/// text, which options.block can bring down: ValueError.
KUSARI_API L::TransformerLM load_llama(const std::string& folder, const PretrainedOptions& options = {});

}  // namespace kusari::models
