#include "edgecompiler/cancel.h"

#include "support/budget.h"

namespace ec {

struct CancelScope::Impl {
  explicit Impl(CancelToken own) : token(std::move(own)), scope(budget) {
    budget.watch(token.flag_.get());
  }

  CancelToken token;
  Budget budget;
  BudgetScope scope;
};

CancelScope::CancelScope(CancelToken token) : impl_(std::make_unique<Impl>(std::move(token))) {}
CancelScope::~CancelScope() = default;

}  // namespace ec
