"""What makes jobs run: claim, dispatch, finish, recover; and the loop that waits."""
