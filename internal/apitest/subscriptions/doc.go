// Package subscriptions tests what subscribers are told, and what ends their sockets.
package subscriptions
