package main

import (
	"net"
	"os"
	"syscall"
	"unsafe"
)

// dieWithParent has the kernel end the program when we die, however that happens.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// handOver sends the client the connection to the program, and reports whether it could.
func handOver(client, engine net.Conn) bool {
	to, ok := client.(*net.UnixConn)
	from, tcp := engine.(*net.TCPConn)
	if !ok || !tcp {
		return false
	}
	file, err := from.File()
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	_, _, err = to.WriteMsgUnix([]byte{0}, syscall.UnixRights(int(file.Fd())), nil)
	return err == nil
}

// loopbackUp switches the loopback interface on, which a new network namespace has switched off.
func loopbackUp() error {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer func() { _ = syscall.Close(socket) }()
	request := struct { // ifreq, see netdevice(7)
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}{flags: syscall.IFF_UP}
	copy(request.name[:], "lo")
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(socket), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return os.NewSyscallError("ioctl", errno)
	}
	return nil
}
