#pragma once

#include <memory>
#include <type_traits>

#include "kusari/framework/links/link.h"

namespace kusari::detail {

/// How to copy a model whose type is known only where it was given; null where the copy constructor is deleted.
using CloneModel = std::unique_ptr<Link> (*)(const Link& model);
template <class Model>
CloneModel model_cloner() {
  if constexpr (std::is_copy_constructible_v<Model>) {
    return [](const Link& link) -> std::unique_ptr<Link> {
      const CopyScope scope(CopyMode::copy);
      return std::make_unique<Model>(static_cast<const Model&>(link));
    };
  } else {
    return nullptr;
  }
}

}  // namespace kusari::detail
