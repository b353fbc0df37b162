#include "kusari/tests/golden_runner/links.h"

namespace kusari::golden {

const LinkTable& link_table() {
  static const LinkTable table = [] {
    LinkTable all;
    add_activation_links(all);
    add_batch_normalization_links(all);
    add_connection_links(all);
    add_convolution_links(all);
    add_loss_links(all);
    add_model_links(all);
    add_normalization_links(all);
    add_sampling_links(all);
    return all;
  }();
  return table;
}

}  // namespace kusari::golden
