#include "kusari/framework/links/connection/embed_id.h"

#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/connection/embed_id.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/links/connection/filters.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {

EmbedID::EmbedID(int64_t in_size, int64_t out_size, Options options)
    : W{*this,
        "W",
        {argument::not_negative("L::EmbedID", "in_size", in_size),
         argument::not_negative("L::EmbedID", "out_size", out_size)},
        options.initial_w ? std::move(options.initial_w) : Initializer(initializers::Normal(1))},
      ignore_label{options.ignore_label} {}

EmbedID EmbedID::from_params(const Array& W, std::optional<int64_t> ignore_label) {
  check_filters("L::EmbedID::from_params", W, 2, 2);
  return EmbedID(W.shape()[0], W.shape()[1], {.initial_w = W, .ignore_label = ignore_label});
}

Variable EmbedID::operator()(const Variable& x) const {
  const LinkCall call(*this);
  return functions::embed_id(x, W, ignore_label);
}

std::vector<std::pair<std::string, std::string>> EmbedID::printable_specs() const {
  const Shape& shape = W.declared_shape();
  return {{"in_size", std::to_string(shape[0])},
          {"out_size", std::to_string(shape[1])},
          {"ignore_label", ignore_label ? std::to_string(*ignore_label) : "None"}};
}

}  // namespace kusari::links
