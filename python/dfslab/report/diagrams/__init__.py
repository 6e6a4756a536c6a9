"""UML diagrams of descriptions: interactions, structure, and XMI."""
