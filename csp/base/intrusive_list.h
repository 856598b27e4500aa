// A doubly linked list through its elements: O(1) insertion and removal, no allocation.
//
//   struct Job : ListNode<Job> { … };
//   IntrusiveList<Job> queue;
//   queue.PushBack(&job);
//   queue.Remove(&job);
//
// Lifetime: the list owns nothing; an element must be removed before it is destroyed.
// Thread rules: none of its own; whoever owns the list guards it.
#ifndef CSP_BASE_INTRUSIVE_LIST_H_
#define CSP_BASE_INTRUSIVE_LIST_H_

#include <cassert>
#include <cstddef>

namespace csp::internal {

template <class T>
class IntrusiveList;

// Base of an element. Copying an element does not copy its membership.
template <class T>
class ListNode {
 public:
  ListNode() = default;
  ListNode(const ListNode&) = delete;
  ListNode& operator=(const ListNode&) = delete;

  bool linked() const { return linked_; }

 private:
  friend class IntrusiveList<T>;

  // Unlinked elements keep stale links: `linked_` alone says whether they mean anything, so that
  // making a node costs one byte store.
  T* prev_;
  T* next_;
  bool linked_ = false;
};

template <class T>
class IntrusiveList {
 public:
  IntrusiveList() = default;
  // The other is empty afterwards. What is assigned to must be empty before.
  IntrusiveList(IntrusiveList&& other) noexcept { Append(other); }
  IntrusiveList& operator=(IntrusiveList&& other) noexcept {
    assert(empty());
    Append(other);
    return *this;
  }

  bool empty() const { return head_ == nullptr; }
  T* front() const { return head_; }
  T* back() const { return tail_; }

  // The element behind `element`, or null at the end.
  static T* Next(const T* element) { return Node(element)->next_; }

  void PushBack(T* element) {
    ListNode<T>* node = Node(element);
    assert(!node->linked_);
    node->prev_ = tail_;
    node->next_ = nullptr;
    node->linked_ = true;
    (tail_ != nullptr ? Node(tail_)->next_ : head_) = element;
    tail_ = element;
  }

  void PushFront(T* element) {
    ListNode<T>* node = Node(element);
    assert(!node->linked_);
    node->prev_ = nullptr;
    node->next_ = head_;
    node->linked_ = true;
    (head_ != nullptr ? Node(head_)->prev_ : tail_) = element;
    head_ = element;
  }

  // Does nothing if the element is in no list.
  void Remove(T* element) {
    ListNode<T>* node = Node(element);
    if (!node->linked_) return;
    assert(node->prev_ == nullptr ? head_ == element : Node(node->prev_)->next_ == element);
    (node->prev_ != nullptr ? Node(node->prev_)->next_ : head_) = node->next_;
    (node->next_ != nullptr ? Node(node->next_)->prev_ : tail_) = node->prev_;
    node->linked_ = false;
  }

  // Null when empty.
  T* PopFront() {
    T* element = head_;
    if (element != nullptr) Remove(element);
    return element;
  }
  T* PopBack() {
    T* element = tail_;
    if (element != nullptr) Remove(element);
    return element;
  }

  // Moves all of `other` behind the last element here; O(1).
  void Append(IntrusiveList& other) {
    if (other.head_ == nullptr) return;
    if (tail_ == nullptr) {
      head_ = other.head_;
    } else {
      Node(tail_)->next_ = other.head_;
      Node(other.head_)->prev_ = tail_;
    }
    tail_ = other.tail_;
    other.head_ = other.tail_ = nullptr;
  }

 private:
  static ListNode<T>* Node(T* element) { return element; }
  static const ListNode<T>* Node(const T* element) { return element; }

  T* head_ = nullptr;
  T* tail_ = nullptr;
};

}  // namespace csp::internal

#endif  // CSP_BASE_INTRUSIVE_LIST_H_
