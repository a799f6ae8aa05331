// Expressions of TorchScript's source: literals, names, calls, subscripts, brackets.
#pragma once

#include "frontend/torch/script/ast.h"
#include "frontend/torch/script/token_cursor.h"

namespace ec::torch::script {

class ExpressionParser : public TokenCursor {
 public:
  using TokenCursor::TokenCursor;

 protected:
  // Counts brackets, calls and blocks; those of machine-written code nest far less.
  static constexpr int kMaxDepth = 300;
  class Nesting {
   public:
    explicit Nesting(ExpressionParser& parser) : depth_(++parser.depth_) {}
    ~Nesting() { --depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    bool too_deep() const { return depth_ > kMaxDepth; }

   private:
    int& depth_;
  };

  Result<Expr> expression();
  Result<std::vector<Expr>> expressions();
  bool ends_list() const;

 private:
  Result<Expr> primary();
  Result<Expr> number(double sign);
  Result<Expr> bracketed(std::string_view close, Expr::Kind kind);
  Result<Expr> dictionary();
  Status arguments(Expr& call);

  int depth_ = 0;
};

}  // namespace ec::torch::script
