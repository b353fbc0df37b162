#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/export.h"

namespace kusari {

/// How one object of a training run holds another: one given by lvalue is referred to and must live as long; one given
/// by rvalue, or in a shared_ptr, is owned.
template <class T>
class Ref {
 public:
  Ref(T& object) : object_{std::shared_ptr<void>(), &object} {}
  template <std::derived_from<T> D>
  requires(!std::is_const_v<D>) Ref(D&& object)  // binds rvalues only: an lvalue would make D a reference
      : object_{std::make_shared<D>(std::move(object))} {}
  template <std::derived_from<T> D>
  Ref(std::shared_ptr<D> object) : object_{std::move(object)} {}

  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_.get(); }
  T* get() const noexcept { return object_.get(); }

 private:
  std::shared_ptr<T> object_;
};

}  // namespace kusari
