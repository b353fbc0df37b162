#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shared.h"

namespace kusari {

/// How one object of a training run holds another: one given by lvalue is referred to and must live as long; one given
/// by rvalue, or in a shared_ptr, is owned.
template <class T>
class Ref {
 public:
  Ref(T& object) : object_{Shared<T>::to(object)} {}
  template <std::derived_from<T> D>
  requires(!std::is_const_v<D>) Ref(D&& object)  // binds rvalues only: an lvalue would make D a reference
      : object_{Shared<T>::template of<D>(std::move(object))} {}
  template <std::derived_from<T> D>
  Ref(std::shared_ptr<D> object) : object_{std::move(object)} {}

  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_.get(); }
  T* get() const noexcept { return object_.get(); }

 private:
  Shared<T> object_;
};

}  // namespace kusari
