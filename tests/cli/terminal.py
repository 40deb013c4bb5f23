"""A terminal of a stated width, for tests of what commands show on one."""
import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading

END = b"\0"


def shown(words, width, talk=False, **more):
    """The lines a terminal of this width shows, with those of standard error where `talk` is set. Its other end stays open until all is read: what is still on its way when
    the last writer closes it may be lost."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    with subprocess.Popen(words, stdout=theirs, stderr=theirs if talk else subprocess.DEVNULL, **more) as child:
        def ended():
            child.wait(60)
            os.write(theirs, END)

        waiter = threading.Thread(target=ended)
        waiter.start()
        text = b""
        while not text.endswith(END):
            text += os.read(ours, 4096)
        waiter.join()
    os.close(ours)
    os.close(theirs)
    return text.removesuffix(END).decode().splitlines()
