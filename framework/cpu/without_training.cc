#include "kusari/framework/cpu/register.h"

// libkusari_inference has this in place of the sources that these functions are in. An absent kernel throws when it is
// asked for.
namespace kusari::cpu {

void register_symmetric_eigen(Backend&) {}
void register_decompositions(Backend&) {}
void register_optimizer(Backend&) {}
void register_value_statistics(Backend&) {}
void register_image_batch(Backend&) {}
void register_connectionist_temporal_classification(Backend&) {}
void register_hard_negatives(Backend&) {}
void register_sigmoid_focal_loss(Backend&) {}
void register_normalized_fusion(Backend&) {}

}  // namespace kusari::cpu
